#!/usr/bin/env bash
# usage: elixir_test.sh [--tls] PROGRAM
#
# Runs elixir_test.exs with an EPMD of its own, which ends with the test. Skipped, with words, where there is no Elixir.
#
#   --tls   over TLS: both nodes show certificates of an authority that is made for this run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tls_files.sh"
command -v elixir >/dev/null || absent elixir elixir
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

export ERL_EPMD_PORT=$((20000 + $$ % 6000))
export HOME=${HOME:-/tmp} LC_ALL=C.UTF-8
epmd &
epmd_pid=$!
elixir "$here/elixir_test.exs" "${mode[@]}" "$@"
