#!/usr/bin/env bash
# The programs of the peers, as far as they are there: every workload runs, small, and tells a result; wrong words
# are refused with their names. Skipped (77) without any of them.
#
# usage: peers_test.sh ERGON_BENCH_CAF ERGON_BENCH_SOBJECTIZER ERGON_BENCH_ERLANG
set -euo pipefail
failed=0
tried=0

# try PEER PROGRAM WORKLOADS: a program that has so many: 13, or 11 without calls.
try() {
  local peer=$1 bench=$2 count=$3 words workload line text said status
  tried=$((tried + 1))
  for words in 'ping_pong n=100' 'ping_pong_pairs pairs=10 n=10' 'stream n=1000' 'stream_nn pairs=3 n=100' \
    'fan_in n=100' 'ring size=10 hops=1000 tokens=3' 'spawn n=1000' 'churn n=100' 'skynet n=1000' 'call n=100' \
    'call_many callers=50 n=5' 'pool n=100' 'pool_work n=100 us=1'; do
    workload=${words%% *}
    [[ $workload != call* || $count == 13 ]] || continue
    # shellcheck disable=SC2086  # a workload and its parameters
    line=$(timeout 60 "$bench" $words warmup=0) || { echo "failed: $peer $words"; failed=1; continue; }
    if ! grep -qE "^\{\"peer\":\"$peer\",\"workload\":\"$workload\",\"params\":\{.*\},\"ops\":[1-9].*,\"seconds\":[0-9].*,\"ops_per_s\":[1-9].*,\"ns_per_op\":[1-9].*,\"version\":\"[0-9].*\}$" <<<"$line"; then
      echo "no result: $peer $words: $line"
      failed=1
    fi
    [[ $workload != spawn || $line == *'"bytes_per_actor":'* ]] || { echo "no bytes: $line"; failed=1; }
  done
  while IFS='|' read -r text words; do
    status=0
    # shellcheck disable=SC2086
    said=$("$bench" $words 2>&1) || status=$?
    if [[ $status != 2 || $said != *"$text"* ]]; then
      echo "status $status instead of 2, or not '$text': $peer $words: $said"
      failed=1
    fi
  done <<'WRONG'
no workload named|
sing: no such workload|sing
n: 'many' is not a number|ping_pong n=many
n: '0' is not a number in 1..|ping_pong n=0
m: no such key|ping_pong m=1
not of the form key=value|ping_pong fast
WRONG
  [[ $("$bench" --list | grep -cE '^[a-z_]+ ') == "$count" ]] || { echo "$peer --list"; failed=1; }
  [[ $("$bench" --help) == *"usage: ergon-bench-$peer WORKLOAD"* ]] || { echo "$peer --help"; failed=1; }
}

if [[ -x $1 ]]; then try caf "$1" 13; else echo "no CAF: $1 is not built"; fi
if [[ -x $2 ]]; then try sobjectizer "$2" 11; else echo "no SObjectizer: $2 is not built"; fi
if command -v erlc >/dev/null; then
  ERGON_BENCH_BEAM_DIR=$(mktemp -d)
  export ERGON_BENCH_BEAM_DIR
  trap 'rm -rf "$ERGON_BENCH_BEAM_DIR"' EXIT
  try erlang "$3" 13
else
  echo "no Erlang: there is no erlc"
fi
[[ $tried != 0 ]] || exit 77
exit $failed
