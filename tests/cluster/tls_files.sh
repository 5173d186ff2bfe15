# shellcheck shell=bash
# To be sourced: what nodes that speak over TLS need, for a test.

# absent WHAT PACKAGE: the test is skipped, with words.
absent() {
  echo "no $1 here: it is in the Debian package $2"
  exit 77
}

# make_tls_files FOLDER: node.pem, node.key, ca.pem, of an authority that is made for this run, and ssl_dist.conf, with
# which a node of Erlang uses them.
make_tls_files() {
  local folder=$1 package application files
  # Each application that the first one needs is a package of its own.
  for package in erlang-asn1 erlang-crypto erlang-public-key erlang-ssl; do
    command -v erl >/dev/null || break
    application=${package#erlang-}
    erl -noshell -eval "halt(case code:lib_dir(${application//-/_}) of {error, _} -> 1; _ -> 0 end)." ||
      absent "application $application of Erlang" "$package"
  done
  command -v openssl >/dev/null || absent openssl openssl
  (
    cd "$folder"
    # Erlang looks for the host of a node's name among the DNS names, also where it is an address.
    echo 'subjectAltName=DNS:127.0.0.1,IP:127.0.0.1' >names
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
    openssl req -newkey rsa:2048 -nodes -keyout node.key -out node.csr -subj /CN=node
    openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 2 \
      -extfile names
  ) >"$folder/openssl.log" 2>&1 || {
    cat "$folder/openssl.log"
    exit 1
  }
  files="{certfile, \"$folder/node.pem\"}, {keyfile, \"$folder/node.key\"}, {cacertfile, \"$folder/ca.pem\"}"
  cat >"$folder/ssl_dist.conf" <<CONF
[{server, [$files, {verify, verify_peer}, {fail_if_no_peer_cert, true}]},
 {client, [$files, {verify, verify_peer}]}].
CONF
}
