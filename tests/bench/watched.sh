#!/usr/bin/env bash
# usage: watched.sh ERGON_BENCH ROUNDS READERS [CSV]
#        watched.sh ERGON_BENCH ROUNDS READERS small
#
# What a message costs while nobody observes its node, while an observer waits, and while READERS browsers read its page:
# each row in all three ways, by turns, ROUNDS times. Prints a table of the medians, and how many times the first one the
# others are, by the clock and by the processor time of the node's program alone: the readers run on this machine, too.
# CSV gets every run. small: short runs, to try this out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bench=$1 rounds=$2 readers=$3 csv=${4:-}

# The row, and its workload.
rows=("stream|stream n=1000000 seconds=3" "pool|pool n=200000 seconds=3")
if [[ $csv == small ]]; then
  csv=
  rows=("stream|stream n=10000 warmup=0" "pool|pool n=1000 warmup=0")
fi
work=$(mktemp -d)
reading=
end() {
  exec 9>&-
  [[ -z $reading ]] || wait "$reading" 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
die() {
  echo "watched.sh: $*" >&2
  exit 1
}
mkfifo "$work/alive"
[[ -z $csv ]] || echo "row,way,nanoseconds,processor_nanoseconds" >"$csv"

# run WAY WORKLOAD...: the nanoseconds of one operation, and those of processor time.
run() {
  local way=$1 port=$((20000 + RANDOM % 10000)) words=()
  shift
  [[ $way == off ]] || words=(observe="$port")
  reading=
  if [[ $way == watched ]]; then
    words+=(readers="$readers")
    exec 9<>"$work/alive"  # with it the readers end, also when this script is killed
    "$here/readers.py" "$port" "$readers" <"$work/alive" 2>"$work/readers" 9>&- &
    reading=$!
  fi
  timeout --foreground 300 "$bench" "$@" "${words[@]}" >"$work/line" 2>"$work/log" 9>&- || {
    cat "$work/log" >&2
    die "'$*' has failed"
  }
  if [[ -n $reading ]]; then
    exec 9>&-
    wait "$reading" || die "the readers: $(tail -n 1 "$work/readers")"
    reading=
  fi
  sed -nE 's/.*"ns_per_op":([0-9.e+]+),.*"processor_ns_per_op":([0-9.e+]+).*/\1,\2/p' "$work/line" >"$work/nanoseconds"
  [[ -s $work/nanoseconds ]] || die "'$*' told no result"
}

for ((round = 1; round <= rounds; ++round)); do
  for row in "${rows[@]}"; do
    read -ra words <<<"${row#*|}"
    for way in off on watched; do
      [[ ! -t 2 ]] || printf '\r%-8s %-8s %d of %d ' "${row%%|*}" "$way" "$round" "$rounds" >&2
      run "$way" "${words[@]}"
      echo "${row%%|*},$way,$(<"$work/nanoseconds")" >>"$work/results"
      [[ -z $csv ]] || tail -n 1 "$work/results" >>"$csv"
    done
  done
done
[[ ! -t 2 ]] || printf '\r%40s\r' '' >&2

# median ROW WAY COLUMN
median() {
  awk -F, -v row="$1" -v way="$2" -v column="$3" -f "$here/median.awk" -f /dev/stdin "$work/results" <<<'
    $1 == row && $2 == way { found[++count] = $column }
    END { print median(found, count) }'
}

printf '%-10s %-10s %10s %10s %8s %10s %8s\n' row by off on ratio "$readers read" ratio
for row in "${rows[@]}"; do
  column=3
  for by in clock processor; do
    printf '%-10s %-10s' "${row%%|*}" "$by"
    off=
    for way in off on watched; do
      found=$(median "${row%%|*}" "$way" "$column")
      printf ' %10.1f' "$found"
      [[ -z $off ]] || awk -v a="$found" -v b="$off" 'BEGIN { printf " %8.3f", a / b }'
      off=${off:-$found}
    done
    echo
    ((++column))
  done
done
