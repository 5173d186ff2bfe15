#!/usr/bin/env bash
# usage: instructions.sh ERGON_BENCH [--print]
#
# How many instructions a message costs, counted by callgrind: the same for the same program, whatever
# else the machine does. Each workload runs twice, with N and 2 N messages; the difference is what N
# messages cost. A count may exceed the limit below, which is 5 % above what was reached, or the test
# fails: so the weight does not creep back. --print: only the counts.
set -euo pipefail
bench=$1
print=${2:-}

# name | instructions at most | N | workload with n=N
rows=(
  "stream message|402|20000|stream n=%"
  "ping_pong there and back|1575|5000|ping_pong n=%"
  "call|2340|3000|call n=%"
  "pool message|650|5000|pool producers=1 pool_workers=4 n=%"
)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# count WORKLOAD...: instructions of one run.
count() {
  valgrind --tool=callgrind --callgrind-out-file="$work/out" "$bench" "$@" warmup=0 yardstick=0 \
    >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
  sed -nE 's/^(summary|totals): ([0-9]+).*/\2/p' "$work/out" | head -n 1
}

failed=0
for row in "${rows[@]}"; do
  IFS='|' read -r name limit n arguments <<<"$row"
  # shellcheck disable=SC2086
  once=$(count ${arguments//%/$n})
  # shellcheck disable=SC2086
  twice=$(count ${arguments//%/$((2 * n))})
  each=$(((twice - once) / n))
  echo "$name: $each instructions, at most $limit"
  [[ $print == --print ]] || ((each <= limit)) || failed=1
done
exit $failed
