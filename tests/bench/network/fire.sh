#!/usr/bin/env bash
# usage: fire.sh PROGRAM CALLS
#
# How an honest peer fares beside hostile ones: single calls from one Ergon node to another, first with nobody else, then beside
# all attackers of tests/cluster/attackers.h and dialled.h. Tells the time of the calls, the longest connect, and the most memory
# that the node that is called has had; then what is wanted, and whether it holds: with the attackers the memory grows by 16 MiB
# at most, each call is answered, and the honest peer, which connects anew after each hundredth call, never does so in vain, and
# each time within a second. No time of a call is wanted.
# PROGRAM is ergon-bench-network. Exit status: 0 all of it holds, 1 something does not, 77 there is no epmd.
set -euo pipefail
command -v epmd >/dev/null || {
  echo "no epmd here (Debian's package erlang-base)"
  exit 77
}
. "$(dirname "${BASH_SOURCE[0]}")/../../epmd.sh"
program=$1 calls=$2

work=$(mktemp -d)
children=()
# shellcheck disable=SC2317  # called by the trap
end() {
  exec 8>&- 9>&-
  local child
  for child in "${children[@]}"; do
    wait "$child" 2>/dev/null || true
  done
  [[ -z $epmd_pid ]] || { kill "$epmd_pid" 2>/dev/null && wait "$epmd_pid" 2>/dev/null; } || true
  rm -rf "$work"
}
trap end EXIT

RELEASE_COOKIE=$(od -An -N 16 -tx1 /dev/urandom | tr -d ' \n')
export RELEASE_COOKIE
start_epmd 26000 2000 -address 127.0.0.1

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
  local measured
  measured=$(timeout --foreground 300 "$program" latency --name "honest$1@127.0.0.1" --peer fortress@127.0.0.1 \
    --count "$calls" 8>&- 9>&- 2>"$work/client.log") || {
    cat "$work/client.log" >&2
    exit 1
  }
  awk -v row="$1" -v measured="$measured" '/^VmHWM:/ {
    split(measured, of, " ")
    printf "%-10s %10.1f %10.1f %10.1f %10.1f %10.1f %10d %6d/%d\n",
      row, of[1] / 1000, of[2] / 1000, of[3] / 1000, of[7] / 1e6, $2 / 1024, of[4], of[6], of[5]
  }' "/proc/$server/status" | tee -a "$work/rows"
}
printf '%-10s %10s %10s %10s %10s %10s %10s %s\n' \
  calls "p50 µs" "p99 µs" "most µs" "connect ms" MiB answered "failed connects"
row alone
start attackers "$work/attackers_live" "$program" attack --peer fortress@127.0.0.1 --port "$port"
row fire
exec 8>&-
wait "${children[1]}" || true
sed -n '$s/^/rounds of the attackers: /p' "$work/attackers"

# wanted WHAT FOUND AWK-CONDITION: tells whether a wanted value, of which the awk variable `found` is what was found, holds.
failed=0
wanted() {
  local verdict=holds
  awk -v found="$2" "BEGIN { exit !($3) }" || { verdict="does not hold"; failed=1; }
  printf '%s: %s: %s\n' "$1" "$2" "$verdict"
}
more=$(awk '{ of[$1] = $6 } END { printf "%.1f", of["fire"] - of["alone"] }' "$work/rows")
wanted "MiB more beside the attackers, at most 16" "$more" "found <= 16"
wanted "calls answered beside the attackers, of $calls" "$(awk '$1 == "fire" { print $7 }' "$work/rows")" "found == $calls"
wanted "connects that failed beside the attackers, none" \
  "$(awk '$1 == "fire" { sub("/.*", "", $8); print $8 }' "$work/rows")" "found == 0"
wanted "longest connect beside the attackers, ms, at most 1000" \
  "$(awk '$1 == "fire" { print $5 }' "$work/rows")" "found <= 1000"
exit $failed
