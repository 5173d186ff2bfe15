#!/usr/bin/env bash
# usage: observer_test.sh PROGRAM
#
# Runs observer_test.escript, where Erlang's tools look at PROGRAM (the example erlang_pool), with an EPMD of its own,
# which ends with the test. It is skipped where etop is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

. "$here/own_epmd.sh"
command -v escript >/dev/null || absent escript erlang-base
erl -noshell -eval 'halt(case code:which(etop) of non_existing -> 1; _ -> 0 end).' || absent etop erlang-observer
begin_nodes 14000
escript "$here/observer_test.escript" "$(realpath "$1")"
