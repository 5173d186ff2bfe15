#!/usr/bin/env bash
# usage: tests/prometheus.sh TREESUM
#
# Prometheus scrapes a running node, the example treesum: with a token, as across a network, and finds it up, with what its
# pool does, and nothing that promtool complains of. With the Debian package prometheus, which scripts/setup does not
# install: it would start a service. tests/unpacked.sh runs a command with its programs, but without the service. Where
# they are missing it is skipped (77).
. "$(dirname "$0")/examples/checks.sh"

for tool in prometheus promtool; do
  command -v "$tool" >/dev/null && continue
  echo "skipped: there is no $tool (tests/unpacked.sh prometheus FOLDER COMMAND...)"
  exit 77
done

# Two in the background; of checks.sh only one.
server=
end_both() {
  [[ -z $server ]] || { kill -KILL "$server" && wait "$server"; } 2>/dev/null
  cleanup
}
trap end_both EXIT
# As in checks.sh, but a minute at most: each look starts a program of 50 MB.
eventually() {
  local end=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < end)) || return 1
    read -rt 0.1 <> <(:) || true
  done
}

export ERGON_OBSERVER_TOKEN=a-token-of-this-test
truncate -s 200G much
start --workers 3 --observe 0 much
check 'the node says where it is observed' eventually grep -qE '^treesum: see http://127.0.0.1:[0-9]+/metrics$' err
port=$(sed -nE 's|^treesum: see http://127.0.0.1:([0-9]+)/metrics$|\1|p' err)

printf %s "$ERGON_OBSERVER_TOKEN" >token
cat >prometheus.yml <<CONFIG
scrape_configs:
  - job_name: ergon
    scrape_interval: 200ms
    authorization: {credentials_file: $work/token}
    static_configs: [{targets: ["127.0.0.1:$port"]}]
  - job_name: stranger
    scrape_interval: 200ms
    static_configs: [{targets: ["127.0.0.1:$port"]}]
CONFIG
check 'promtool accepts the configuration' promtool check config prometheus.yml >checked
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:0 >scraped 2>&1 &
server=$!
# The line that tells the port is there when it listens.
listens() {
  local place
  place=$(grep -oE 'Listening on" .*address=127\.0\.0\.1:[0-9]+' scraped) || return 1
  address=${place##*=}
}
check 'Prometheus runs' eventually listens

# value QUERY: of the only series of that.
value() { promtool query instant "http://$address" "$1" 2>/dev/null | sed -nE 's/.* => ([^ ]+) @.*/\1/p'; }
has() { [[ $(value "$1") == "$2" ]]; }
check 'the node is up there' eventually has 'up{job="ergon"}' 1
check 'its pool has three workers' eventually has 'ergon_pool_workers{job="ergon"}' 3
check 'one of them is busy' eventually has 'ergon_pool_workers_busy' 1
check 'who has no token is refused, and that is seen' eventually has 'up{job="stranger"}' 0
check 'rates can be made of its counters' eventually has \
  'rate(ergon_dispatcher_turns_total{job="ergon"}[10s]) >= bool 0' 1
described() {
  exec 3<>"/dev/tcp/${address/://}" || return 1
  printf 'GET /api/v1/metadata?metric=ergon_messages_handled HTTP/1.0\r\n\r\n' >&3
  grep -q '"type":"counter","help":"Messages for which a handler was called."' <&3
}
check 'a counter has the type and the help that it was given' eventually described

exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n' \
  "$ERGON_OBSERVER_TOKEN" >&3
sed '1,/^\r$/d' <&3 >told
check 'there are metrics' grep -q '^ergon_messages_handled_total ' told
finds_no_fault() { promtool check metrics <told; }
check 'promtool finds no fault with them' finds_no_fault
kill -TERM "$background"
wait "$background"
background=
check 'a node that has ended is down there' eventually has 'up{job="ergon"}' 0
finish
