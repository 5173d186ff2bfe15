#!/usr/bin/env bash
# usage: fire.sh PROGRAM CALLS
#
# How an honest peer fares beside hostile ones: single calls from one Ergon node to another, first with nobody else, then beside
# all attackers of tests/dist/attackers.h. Tells the time of the calls, and the most memory that the node that is called has had.
# PROGRAM is ergon-bench-network.
set -euo pipefail
program=$1 calls=$2

work=$(mktemp -d)
children=()
end() {
  exec 8>&- 9>&-
  local child
  for child in "${children[@]}"; do
    wait "$child" 2>/dev/null || true
  done
  [[ -z ${epmd:-} ]] || { kill "$epmd" 2>/dev/null && wait "$epmd" 2>/dev/null; } || true
  rm -rf "$work"
}
trap end EXIT

export ERL_EPMD_PORT=$((26000 + $$ % 2000))
RELEASE_COOKIE=$(od -An -N 16 -tx1 /dev/urandom | tr -d ' \n')
export RELEASE_COOKIE
epmd -address 127.0.0.1 &
epmd=$!
until epmd -names >/dev/null 2>&1; do sleep 0.05; done

# start NAME FIFO COMMAND...: a program that ends with its standard input, once it has said that it is ready.
start() {
  local name=$1 fifo=$2
  shift 2
  touch "$work/$name"
  "$@" <"$fifo" >"$work/$name" 2>"$work/$name.log" 8>&- 9>&- &
  children+=($!)
  until grep -q '^ready' "$work/$name"; do
    if ! kill -0 "${children[-1]}" 2>/dev/null; then
      cat "$work/$name" "$work/$name.log" >&2
      echo "fire.sh: $name has ended" >&2
      exit 1
    fi
    sleep 0.05
  done
}
mkfifo "$work/server_lives" "$work/attackers_live"
exec 8<>"$work/attackers_live" 9<>"$work/server_lives"
port=$((28000 + $$ % 4000))
start server "$work/server_lives" "$program" serve --name fortress@127.0.0.1 --port "$port"
server=${children[0]}

# row NAME: measures, and tells a line of the table.
row() {
  local times
  times=$(timeout 300 "$program" latency --name "honest$1@127.0.0.1" --peer fortress@127.0.0.1 \
    --count "$calls" 8>&- 9>&- 2>"$work/client.log") || {
    cat "$work/client.log" >&2
    exit 1
  }
  awk -v row="$1" -v times="$times" '/^VmHWM:/ {
    split(times, ns, " ")
    printf "%-10s %10.1f %10.1f %10.1f %10.1f\n", row, ns[1] / 1000, ns[2] / 1000, ns[3] / 1000, $2 / 1024
  }' "/proc/$server/status"
}
printf '%-10s %10s %10s %10s %10s\n' calls "p50 µs" "p99 µs" "most µs" MiB
row alone
start attackers "$work/attackers_live" "$program" attack --peer fortress@127.0.0.1 --port "$port"
row fire
exec 8>&-
wait "${children[1]}" || true
sed -n '$s/^/rounds of the attackers: /p' "$work/attackers"
