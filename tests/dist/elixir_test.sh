#!/usr/bin/env bash
# usage: elixir_test.sh PROGRAM
#
# Runs elixir_test.exs with an EPMD of its own, which ends with the test. Skipped, with words, where there is no Elixir.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tls_files.sh"
command -v elixir >/dev/null || absent elixir elixir
export ERL_EPMD_PORT=$((20000 + $$ % 6000))
export HOME=${HOME:-/tmp} LC_ALL=C.UTF-8
epmd &
epmd_pid=$!
trap 'kill $epmd_pid 2>/dev/null; wait $epmd_pid 2>/dev/null || true' EXIT
elixir "$here/elixir_test.exs" "$@"
