#!/usr/bin/env bash
# usage: chaos_test.sh ERGON_CHAOS [OPTION...]
#
# Runs ergon-chaos with a node of Erlang as the third one, where there is Erlang, else with one more of Ergon.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
chaos=$1
shift
export HOME=${HOME:-/tmp}
erlang=()
if command -v escript >/dev/null; then
  erlang=(--erlang "$here/erlang_node.escript")
else
  echo "no escript here (Debian package erlang-base): three nodes of Ergon"
fi
"$chaos" "${erlang[@]}" "$@"
