#!/usr/bin/env bash
# usage: scale.sh ERGON_BENCH ROUNDS MOST CSV [ROW...]
#        scale.sh --rows
#
# How much quicker a row gets with more workers: each with 1, 2, 4 and so on, and with MOST workers, by turns, ROUNDS
# times. For each row and number of workers it tells the median of the nanoseconds of an operation, how many times as fast
# as with one worker that is, and the efficiency: that number, divided by the workers. Below stands what all workers share
# in that row, and so what is to be expected of it. CSV, unless it is empty, gets every run. --rows: the rows there are.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The row, its workload, and what is expected of it; see "More workers" in README.md. @: as many as there are workers, but
# 4 at least; #: what each of so many does of 400,000.
rows=(
  "ping_pong_100|ping_pong_pairs n=5000|near 1: the pairs share nothing; less when there are few of them for a worker"
  "stream_1000|stream_nn pairs=1000 n=1000|near 1: the pairs share nothing but the memory"
  "call_1000|call_many n=100|sinks: one process answers, whose line all callers write"
  "pool|pool producers=@ pool_workers=@ n=#|sinks: each message takes a ticket, one line for all senders"
  "pool_work|pool_work producers=@ pool_workers=@ n=50000|near 1: a ticket each 5 µs, until some 50 workers want it"
  "fan_in|fan_in n=100000|sinks: one process receives, whose line eight senders write"
  "skynet|skynet n=100000|sinks: each process writes three lines that are one for all, six times"
)
if [[ $1 == --rows ]]; then
  printf '%s\n' "${rows[@]%%|*}"
  exit 0
fi
bench=$1 rounds=$2 most=$3 csv=$4
shift 4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() {
  echo "scale.sh: $*" >&2
  exit 1
}
counts=()
for ((workers = 1; workers < most; workers *= 2)); do counts+=("$workers"); done
counts+=("$most")
[[ $most != 1 ]] ||
  echo "there is one processor: what more workers would gain cannot be measured here"

# run WORKERS WORKLOAD...: the nanoseconds of one operation.
run() {
  local line
  line=$(timeout --foreground 600 "$bench" "${@:2}" workers="$1") || die "'${*:2} workers=$1' has failed"
  sed -n 's/.*"ns_per_op": *\([0-9.e+]*\).*/\1/p' <<<"$line" | grep . || die "'${*:2} workers=$1' told no result"
}

parties=$((most < 4 ? 4 : most))
[[ -z $csv ]] || echo "row,workers,nanoseconds" >"$csv"
printf '%-16s %8s %10s %10s %10s\n' row workers median "times one" efficiency
for entry in "${rows[@]}"; do
  IFS='|' read -r row workload expected <<<"$entry"
  [[ $# == 0 || " $* " == *" $row "* ]] || continue
  workload=${workload//@/$parties}
  read -ra words <<<"${workload//#/$((parties < 400000 ? 400000 / parties : 1))}"
  : >"$work/runs"
  for ((round = 1; round <= rounds; ++round)); do
    for workers in "${counts[@]}"; do
      [[ ! -t 2 ]] || printf '\r%-16s %d of %d, %d workers ' "$row" "$round" "$rounds" "$workers" >&2
      nanoseconds=$(run "$workers" "${words[@]}")
      echo "$row,$workers,$nanoseconds" >>"$work/runs"
      [[ -z $csv ]] || echo "$row,$workers,$nanoseconds" >>"$csv"
    done
  done
  [[ ! -t 2 ]] || printf '\r%50s\r' '' >&2
  awk -F, -v expected="$expected" -f "$here/median.awk" -f "$here/scale.awk" "$work/runs"
done
