#!/usr/bin/env bash
# usage: instructions.sh ERGON_BENCH [--print]
#
# How many instructions a message and a process cost, counted by callgrind: the same for the same program, whatever
# else the machine does. Each workload runs twice, with N and 2 N messages; the difference is what N
# messages cost. No count may exceed the limit below, which is 5 % above what was reached: so the weight
# does not creep back. How threads take turns still moves some counts by 3 %, so one that exceeds its
# limit is taken again, twice at most, and the least counts. --print: only the counts.
set -euo pipefail
bench=$1
print=${2:-}

# name | instructions at most | N | workload with n=N
rows=(
  "stream message|346|20000|stream n=%"
  "ping_pong there and back|985|5000|ping_pong n=%"
  "call|1604|3000|call n=%"
  "pool message|511|5000|pool producers=1 pool_workers=4 n=%"
  "process that comes and goes|2780|3000|churn n=%"
)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Errors are looked at one by one: `set -e` is not in force in a command substitution.

# count WORKLOAD...: instructions of one run.
count() {
  local counted
  valgrind --tool=callgrind --callgrind-out-file="$work/out" "$bench" "$@" warmup=0 yardstick=0 \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  counted=$(sed -nE 's/^(summary|totals): ([0-9]+).*/\2/p' "$work/out" | head -n 1) || return 1
  more_than_zero "${counted:-0}" "$@"
}

# more_than_zero COUNT WORKLOAD...: prints the count, or fails.
more_than_zero() {
  if (($1 <= 0)); then
    echo "FAIL: $1 instructions for ${*:2}" >&2
    return 1
  fi
  echo "$1"
}

# measure N WORKLOAD...: instructions of each of N messages.
measure() {
  local n=$1 once twice
  shift
  once=$(count "${@//%/$n}") || return 1
  twice=$(count "${@//%/$((2 * n))}") || return 1
  more_than_zero $(((twice - once) / n)) "$@"
}

failed=0
for row in "${rows[@]}"; do
  IFS='|' read -r name limit n arguments <<<"$row"
  read -ra words <<<"$arguments"
  each=$(measure "$n" "${words[@]}")
  for ((again = 0; again < 2 && each > limit; ++again)); do
    [[ $print != --print ]] || break
    other=$(measure "$n" "${words[@]}")
    ((other >= each)) || each=$other
  done
  echo "$name: $each instructions, at most $limit"
  [[ $print == --print ]] || ((each <= limit)) || failed=1
done
exit $failed
