#!/usr/bin/env bash
# usage: cluster_test.sh [--tls] PROGRAM [CASE...]
#
# Runs cluster_test.escript with an EPMD of its own, which ends with the test.
#
#   --tls   over TLS: both nodes show certificates of an authority that is made for this run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

. "$here/tls_files.sh"
command -v escript >/dev/null || absent escript erlang-base
work=$(mktemp -d)
epmd_pid=
trap 'kill $epmd_pid 2>/dev/null; wait $epmd_pid 2>/dev/null || true; rm -rf "$work"' EXIT

mode=()
if [[ ${1:-} == --tls ]]; then
  shift
  make_tls_files "$work"
  export ERL_FLAGS="-proto_dist inet_tls -ssl_dist_optfile $work/ssl_dist.conf"
  mode=(--tls "$work")
fi

export ERL_EPMD_PORT=$((14000 + $$ % 6000))
export HOME=${HOME:-/tmp}
epmd &
epmd_pid=$!
escript "$here/cluster_test.escript" "${mode[@]}" "$@"
