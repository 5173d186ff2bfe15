#!/usr/bin/env bash
# usage: cluster_test.sh PROGRAM [CASE...]
#
# Runs cluster_test.escript with an EPMD of its own, which ends with the test.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if ! command -v escript >/dev/null; then
  echo "no escript here: it is in the Debian package erlang-base"
  exit 77
fi
export ERL_EPMD_PORT=$((14000 + $$ % 6000))
export HOME=${HOME:-/tmp}
epmd &
epmd_pid=$!
trap 'kill "$epmd_pid" 2>/dev/null; wait "$epmd_pid" 2>/dev/null || true' EXIT
escript "$here/cluster_test.escript" "$@"
