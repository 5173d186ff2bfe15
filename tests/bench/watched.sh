#!/usr/bin/env bash
# usage: watched.sh ERGON_BENCH ROUNDS READERS [small] [together] [CSV]
#
# What a message costs while nobody observes its node, while an observer waits, and while READERS browsers read its page:
# each row in all three ways, by turns, ROUNDS times. Prints a table of the medians, and how many times the first one the
# others are, by the clock and by the processor time of the node's program alone; then what the readers took.
#
# Browsers run on other machines, or at least beside the node. So the readers have the last processor for themselves, and
# the node has the others, with one worker for each, in all three ways. With one processor, or `together`, all share all
# processors, and what the readers take is missing to the node.
# CSV gets every run. small: short runs, to try this out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bench=$1 rounds=$2 readers=$3
shift 3

# The row, and its workload.
rows=("stream|stream n=1000000 seconds=3" "pool|pool n=200000 seconds=3")
apart=1 csv=
for word in "$@"; do
  case $word in
    small) rows=("stream|stream n=10000 warmup=0" "pool|pool n=1000 warmup=0") ;;
    together) apart= ;;
    *) csv=$word ;;
  esac
done
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

# Where the node and the readers run, and the node's workers.
mapfile -t processors < <(awk '$1 == "Cpus_allowed_list:" {
  for (n = split($2, parts, ","); i++ < n;) {
    split(parts[i], ends, "-")
    for (one = ends[1]; one <= (parts[i] ~ /-/ ? ends[2] : ends[1]); ++one) print one
  }
}' /proc/self/status)
count=${#processors[@]}
((count > 1)) && command -v taskset >/dev/null || apart=
node_there=() readers_there=() workers=()
if [[ -n $apart ]]; then
  others=$(IFS=,; echo "${processors[*]:0:count-1}")
  node_there=(taskset -c "$others")
  readers_there=(taskset -c "${processors[count - 1]}")
  workers=(workers=$((count - 1)))
  echo "the node on processor $others with $((count - 1)) workers, $readers readers on processor ${processors[count - 1]}"
else
  echo "the node with 2 workers and $readers readers on the same processors: $count"
fi

# run WAY WORKLOAD...: the nanoseconds of one operation, and those of processor time.
run() {
  local way=$1 port=$((10000 + RANDOM % 4000)) words=(yardstick=0 "${workers[@]}")
  shift
  [[ $way == off ]] || words+=(observe="$port")
  reading=
  if [[ $way == watched ]]; then
    words+=(readers="$readers")
    exec 9<>"$work/alive"  # with it the readers end, also when this script is killed
    "${readers_there[@]}" "$here/readers.py" "$port" "$readers" <"$work/alive" >"$work/read" 2>"$work/readers" 9>&- &
    reading=$!
  fi
  timeout --foreground 300 "${node_there[@]}" "$bench" "$@" "${words[@]}" >"$work/line" 2>"$work/log" 9>&- || {
    cat "$work/log" >&2
    die "'$*' has failed"
  }
  if [[ -n $reading ]]; then
    exec 9>&-
    wait "$reading" || die "the readers: $(tail -n 1 "$work/readers")"
    reading=
    cat "$work/read" >>"$work/all_read"
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
awk '{ answers += $1; seconds += $2; processor += $3 }
  END { if (seconds > 0) printf "the readers had %.0f answers a second, and took %.1f %% of a processor\n", answers / seconds,
        100 * processor / seconds }' "$work/all_read"
