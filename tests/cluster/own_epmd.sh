# shellcheck shell=bash
# To be sourced: an EPMD of a test's own, and TLS between its nodes if that is asked for.
. "$(dirname "${BASH_SOURCE[0]}")/tls_files.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../epmd.sh"

# begin_nodes FIRST_PORT ARGUMENT...: starts an EPMD at one of 6,000 ports from that one on. It ends with the test, and so does
# the folder `work`. If the test's first argument is --tls, nodes speak over TLS, with certificates of an authority that
# is made for this run; `mode` has what the other side of the test is told of it, and `arguments` what is left.
# shellcheck disable=SC2034  # what it sets is for those who source this
begin_nodes() {
  local first=$1
  shift
  work=$(mktemp -d)
  # Erlang puts a cookie into the home folder, which need not be there, nor be ours.
  export HOME=$work
  trap 'kill $epmd_pid 2>/dev/null || true; wait $epmd_pid 2>/dev/null || true; rm -rf "$work"' EXIT
  mode=()
  if [[ ${1:-} == --tls ]]; then
    shift
    make_tls_files "$work"
    export ERL_FLAGS="-proto_dist inet_tls -ssl_dist_optfile $work/ssl_dist.conf"
    mode=(--tls "$work")
  fi
  arguments=("$@")
  start_epmd "$first" 6000
}
