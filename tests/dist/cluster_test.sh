#!/usr/bin/env bash
# usage: cluster_test.sh [--tls] PROGRAM [CASE...]
#
# Runs cluster_test.escript with an EPMD of its own, which ends with the test.
#
#   --tls   over TLS: both nodes show certificates of an authority that is made for this run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# absent WHAT PACKAGE: the test is skipped, with words.
absent() {
  echo "no $1 here: it is in the Debian package $2"
  exit 77
}
command -v escript >/dev/null || absent escript erlang-base
work=$(mktemp -d)
epmd_pid=
trap 'kill $epmd_pid 2>/dev/null; wait $epmd_pid 2>/dev/null || true; rm -rf "$work"' EXIT

mode=()
if [[ ${1:-} == --tls ]]; then
  shift
  # Each application that the first one needs is a package of its own.
  for package in erlang-asn1 erlang-crypto erlang-public-key erlang-ssl; do
    application=${package#erlang-}
    erl -noshell -eval "halt(case code:lib_dir(${application//-/_}) of {error, _} -> 1; _ -> 0 end)." ||
      absent "application $application of Erlang" "$package"
  done
  command -v openssl >/dev/null || absent openssl openssl
  (
    cd "$work"
    # Erlang looks for the host of a node's name among the DNS names, also where it is an address.
    echo 'subjectAltName=DNS:127.0.0.1,IP:127.0.0.1' >names
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
    openssl req -newkey rsa:2048 -nodes -keyout node.key -out node.csr -subj /CN=node
    openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 2 \
      -extfile names
  ) >"$work/openssl.log" 2>&1 || { cat "$work/openssl.log"; exit 1; }
  files="{certfile, \"$work/node.pem\"}, {keyfile, \"$work/node.key\"}, {cacertfile, \"$work/ca.pem\"}"
  cat >"$work/ssl_dist.conf" <<CONF
[{server, [$files, {verify, verify_peer}, {fail_if_no_peer_cert, true}]},
 {client, [$files, {verify, verify_peer}]}].
CONF
  export ERL_FLAGS="-proto_dist inet_tls -ssl_dist_optfile $work/ssl_dist.conf"
  mode=(--tls "$work")
fi

export ERL_EPMD_PORT=$((14000 + $$ % 6000))
export HOME=${HOME:-/tmp}
epmd &
epmd_pid=$!
escript "$here/cluster_test.escript" "${mode[@]}" "$@"
