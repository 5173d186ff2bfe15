#!/usr/bin/env bash
# usage: observer_test.sh PROGRAM
#
# Runs observer_test.escript, where Erlang's tools look at PROGRAM (the example erlang_pool), with an EPMD of its own,
# which ends with the test. It is skipped where etop is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

. "$here/tls_files.sh"
command -v escript >/dev/null || absent escript erlang-base
erl -noshell -eval 'halt(case code:which(etop) of non_existing -> 1; _ -> 0 end).' || absent etop erlang-observer
epmd_pid=
trap 'kill $epmd_pid 2>/dev/null; wait $epmd_pid 2>/dev/null || true' EXIT
export ERL_EPMD_PORT=$((14000 + $$ % 6000))
export HOME=${HOME:-/tmp}
epmd &
epmd_pid=$!
escript "$here/observer_test.escript" "$(realpath "$1")"
