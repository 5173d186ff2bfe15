#!/usr/bin/env bash
# usage: turns.sh PROGRAM ROUNDS CALLS MESSAGES [CSV]
#
# Measures messages between two programs over loopback: every row once, then every row again, ROUNDS times, with a client
# of its own each time. Prints a table of medians and ratios; CSV gets every run. PROGRAM is ergon-bench-network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../epmd.sh"
program=$1 rounds=$2 calls=$3 messages=$4 csv=${5:-}

work=$(mktemp -d)
servers=()
end() {
  exec 9>&-
  local server
  for server in "${servers[@]}"; do
    wait "$server" 2>/dev/null || true
  done
  if [[ -n $epmd_pid ]]; then
    kill "$epmd_pid" 2>/dev/null || true
    wait "$epmd_pid" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap end EXIT

RELEASE_COOKIE=$(od -An -N 16 -tx1 /dev/urandom | tr -d ' \n')
export RELEASE_COOKIE HOME=$work  # Erlang puts a cookie there
start_epmd 20000 6000 -address 127.0.0.1

# Servers end with their standard input: also when this script is killed.
mkfifo "$work/alive"
exec 9<>"$work/alive"
# serve NAME COMMAND...: starts a server, and waits for its word.
serve() {
  local name=$1
  shift
  touch "$work/$name"
  "$@" <"$work/alive" >"$work/$name" 2>"$work/$name.log" 9>&- &
  servers+=($!)
  until grep -q '^ready' "$work/$name"; do
    if ! kill -0 "${servers[-1]}" 2>/dev/null; then
      cat "$work/$name" "$work/$name.log" >&2
      echo "turns.sh: the server $name has ended" >&2
      exit 1
    fi
    sleep 0.05
  done
}
id=$(printf %05d $(($$ % 100000)))
serve erl "$here/network.escript" serve "erlang$id@127.0.0.1"
serve ergon "$program" serve --name "server$id@127.0.0.1"
serve bare "$program" bare-serve
port=$(sed 's/^ready //' "$work/bare")

# run ROW: the nanoseconds of one operation.
run() {
  local erl=("$here/network.escript") me=client$id@127.0.0.1
  local erl_server=erlang$id@127.0.0.1 ergon_server=server$id@127.0.0.1
  case $1 in
    erl_call) timeout --foreground 300 "${erl[@]}" call "$me" "$erl_server" "$calls" ;;
    erl_ergon_call) timeout --foreground 300 "${erl[@]}" call "$me" "$ergon_server" "$calls" ;;
    ergon_call) timeout --foreground 300 "$program" call --name "$me" --peer "$ergon_server" --count "$calls" ;;
    # As long as the others take for the ten times that they are quicker.
    erl_stream) timeout --foreground 300 "${erl[@]}" stream "$me" "$erl_server" "$(((messages + 9) / 10))" ;;
    ergon_stream) timeout --foreground 300 "$program" stream --name "$me" --peer "$ergon_server" --count "$messages" ;;
    terms_stream | packed_stream)
      timeout --foreground 300 "$program" stream --name "$me" --peer "$ergon_server" --what "${1%_stream}" --count "$messages"
      ;;
    bare_stream) timeout --foreground 300 "$program" bare-stream --port "$port" --count "$messages" ;;
  esac 9>&- 2>"$work/client.log"
}
rows=(erl_call erl_ergon_call ergon_call erl_stream ergon_stream terms_stream packed_stream bare_stream)
[[ -z $csv ]] || echo "row,round,nanoseconds" >"$csv"
for ((round = 1; round <= rounds; ++round)); do
  for row in "${rows[@]}"; do
    [[ ! -t 2 ]] || printf '\r%-16s %d of %d ' "$row" "$round" "$rounds" >&2
    nanoseconds=$(run "$row") || {
      cat "$work/client.log" >&2
      echo "turns.sh: $row has failed" >&2
      exit 1
    }
    echo "$row,$round,$nanoseconds" >>"$work/results"
    [[ -z $csv ]] || echo "$row,$round,$nanoseconds" >>"$csv"
  done
done
[[ ! -t 2 ]] || printf '\r%40s\r' '' >&2
awk -F, -f "$here/../median.awk" -f "$here/turns.awk" "$work/results"
