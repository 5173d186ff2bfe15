#!/usr/bin/env bash
# usage: bench_test.sh ERGON_BENCH
#
# Every workload runs, small, and tells a result; wrong words are refused with their names.
set -euo pipefail
bench=$1
failed=0

# small WORKLOAD KEY=VALUE...: without the yardstick, whose two threads spin: when many programs want the processors, that
# takes longer than all workloads together.
small() {
  local line
  line=$("$bench" "$1" warmup=0 yardstick=0 "${@:2}") || { echo "failed: $*"; failed=1; return; }
  if ! grep -qE "^\{\"peer\":\"ergon\",\"workload\":\"$1\",\"params\":\{.*\},\"ops\":[1-9].*\}$" <<<"$line"; then
    echo "no result: $*: $line"
    failed=1
  fi
}
small ping_pong n=1000 yardstick=1
small ping_pong n=1000 policy=sharing
small ping_pong_pairs pairs=10 n=100
small stream n=10000
small stream n=10000 yield_on_send=1
small stream_nn pairs=10 n=1000
small fan_in n=1000 yield_on_send=1
small ring size=10 hops=1000 tokens=3
small spawn n=1000
small churn n=1000
small skynet n=1000
small call n=1000
small call_many callers=50 n=20
small pool n=1000
small pool_work n=1000
small inspect n=1000 pairs=2
small urgent n=20000
small timer n=100
small timer n=100 armed=1000
small latency_under_load busy=10 ms=50
small pool n=1000 workers=1
small skynet n=1000 workers=1 policy=sharing

# Ports from 14000 on are those of the EPMDs of other tests.
small stream n=10000 observe=$((10000 + RANDOM % 4000))
if command -v python3 >/dev/null; then
  watched=$("$(dirname "${BASH_SOURCE[0]}")/watched.sh" "$bench" 1 5 small) || failed=1
  for by in clock processor; do
    grep -qE "^stream +$by( +[0-9]+\.[0-9]){2} " <<<"$watched" || { echo "watched.sh: $watched"; failed=1; }
  done
  together=$("$(dirname "${BASH_SOURCE[0]}")/watched.sh" "$bench" 1 5 small together) || failed=1
  grep -q "5 readers on the same processors" <<<"$together" || { echo "watched.sh together: $together"; failed=1; }
fi

# Every workload is tried above.
while read -r name; do
  grep -qE "^small $name( |$)" "${BASH_SOURCE[0]}" || { echo "not tried: $name"; failed=1; }
done < <("$bench" --list | sed -nE 's/^([a-z_]+) .*/\1/p')

# refused TEXT WORD...
refused() {
  local text=$1 said status=0
  shift
  said=$("$bench" "$@" 2>&1) || status=$?
  if [[ $status != 2 || $said != *"$text"* ]]; then
    echo "status $status instead of 2, or not '$text': $*: $said"
    failed=1
  fi
}
refused "no workload named"
refused "sing: no such workload" sing
refused "n: 'many' is not a number" ping_pong n=many
refused "n: '0' is not a number in 1.." ping_pong n=0
refused "m: no such key" ping_pong m=1
refused "readers: '1001' is not a number in 0..1000" stream readers=1001
refused "workers: '0' is not a number in 1..1024" stream workers=0
refused "not of the form key=value" ping_pong fast
refused "policy: 'chaos' is none of stealing, sharing" ping_pong policy=chaos
refused "n: 'nan' is not a number" ping_pong n=nan
refused "n: '-1' is not a number" ping_pong n=-1
refused "seconds: 'inf' is not a number" ping_pong seconds=inf

# unwritten WORD...: its output cannot be written.
unwritten() {
  local said status=0
  said=$("$bench" "$@" 2>&1 >/dev/full) || status=$?
  if [[ $status != 1 || $said != *"cannot write to "*"No space left on device"* ]]; then
    echo "status $status instead of 1, or not that it cannot write: $*: $said"
    failed=1
  fi
}
unwritten --help
unwritten --list
unwritten ping_pong n=1000 warmup=0

# Without memory for so many processes it ends. (A sanitizer's own memory would be what is missing.)
if ! ldd "$bench" | grep -qE 'lib[atu]b?san'; then
  status=0
  said=$(ulimit -v 1000000 && timeout 60 "$bench" spawn n=10000000 warmup=0 2>&1) || status=$?
  if [[ $status == 0 || $status == 124 || -z $said ]]; then
    echo "status $status without memory, or without a word: $said"
    failed=1
  fi
fi
exit $failed
