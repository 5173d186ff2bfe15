#!/usr/bin/env bash
# Tests scripts/bench with programs that say what they are told, in a checkout of its own: nothing is
# installed, built or measured.
#
# usage: bench_script_test.sh SOURCE_DIR
set -euo pipefail

source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/checkout/scripts" "$work/checkout/build/release/tests/bench" "$work/other/tests/bench" \
  "$work/bin"
cp "$source_dir"/scripts/{bench,common.sh} "$work/checkout/scripts"
for command in "$work/checkout/scripts/setup" "$work/bin/cmake"; do
  printf '#!/bin/sh\nexit 0\n' >"$command"
  chmod +x "$command"
done
export PATH=$work/bin:$PATH

# says FOLDER STREAM PING_PONG: a program with these nanoseconds, a little more or less.
says() {
  cat >"$1/tests/bench/ergon-bench" <<PROGRAM
#!/usr/bin/env bash
case \$1 in stream) ns=$2 ;; *) ns=$3 ;; esac
echo "{\"ns_per_op\":\$ns.\$((RANDOM % 10)),\"ops\":1}"
PROGRAM
  chmod +x "$1/tests/bench/ergon-bench"
}

failed=0
# expect NAME STATUS PATTERN ARGUMENT...
expect() {
  local name=$1 status=$2 pattern=$3 got=0
  shift 3
  "$work/checkout/scripts/bench" "$@" >"$work/out" 2>&1 || got=$?
  if [[ $got != "$status" ]] || ! grep -qE "$pattern" "$work/out"; then
    cat "$work/out"
    echo "FAIL: $name: status $got, expected $status and /$pattern/"
    failed=1
  fi
}
says "$work/checkout/build/release" 40 100
says "$work/other" 40 100
expect 'a row' 0 '^stream +40\.[0-9] +40\.[0-9] +40\.[0-9]$' --rounds 3 stream
expect 'as quick' 0 '^stream .* (0\.9[89]|1\.0[0-2]) ' --rounds 5 --check "$work/other" stream ping_pong
says "$work/other" 30 100
expect 'one is slower' 1 'slower than .* by more than 5 %: stream$' --rounds 5 --check "$work/other" \
  stream ping_pong
expect 'every run in a file' 0 '' --rounds 2 --csv "$work/runs.csv" stream
[[ $(wc -l <"$work/runs.csv") == 3 ]] || { echo "FAIL: runs.csv"; failed=1; }
expect 'no such row' 1 "no row 'rubbish'" rubbish
expect 'no number' 1 "'0' is no number" --rounds 0
expect 'no program' 1 "no program '/nowhere'" --check /nowhere
expect 'no folder for the file' 1 'csv' --csv /nowhere/at/all.csv stream
exit $failed
