#!/usr/bin/env bash
# usage: elixir_test.sh [--tls] PROGRAM
#
# Runs elixir_test.exs with an EPMD of its own, which ends with the test. Skipped, with words, where there is no Elixir.
#
#   --tls   over TLS: both nodes show certificates of an authority that is made for this run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/own_epmd.sh"
command -v elixir >/dev/null || absent elixir elixir
begin_nodes 20000 "$@"
export LC_ALL=C.UTF-8
elixir "$here/elixir_test.exs" "${mode[@]}" "${arguments[@]}"
