#!/usr/bin/env bash
# usage: cluster_test.sh [--tls] PROGRAM [CASE...]
#
# Runs cluster_test.escript with an EPMD of its own, which ends with the test.
#
#   --tls   over TLS: both nodes show certificates of an authority that is made for this run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/own_epmd.sh"
command -v escript >/dev/null || absent escript erlang-base
begin_nodes 14000 "$@"
escript "$here/cluster_test.escript" "${mode[@]}" "${arguments[@]}"
