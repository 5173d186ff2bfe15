#!/usr/bin/env bash
# usage: chaos_test.sh [--tls] ERGON_CHAOS [OPTION...]
#
# Runs ergon-chaos with a node of Erlang as the third one, where there is Erlang, else with one more of Ergon.
#
#   --tls   the nodes speak over TLS, with certificates that are made for this run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../tls_files.sh"
options=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work  # for Erlang's cookie
if [[ ${1:-} == --tls ]]; then
  shift
  make_tls_files "$work"
  options+=(--tls "$work")
fi
chaos=$1
shift
if command -v escript >/dev/null; then
  options+=(--erlang "$here/erlang_node.escript")
else
  echo "no escript here (Debian package erlang-base): three nodes of Ergon"
fi
"$chaos" "${options[@]}" "$@"
