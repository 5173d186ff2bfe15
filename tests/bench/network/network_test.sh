#!/usr/bin/env bash
# usage: network_test.sh PROGRAM
#
# Every row of turns.sh and fire.sh runs, small, and tells a result; wrong words are refused. PROGRAM is ergon-bench-network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$1
if ! command -v escript >/dev/null; then
  echo "no escript here: it is in the Debian package erlang-base"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

"$here/turns.sh" "$program" 2 20 500 "$work/runs.csv" >"$work/table" || failed=1
ratio='[0-9]+\.[0-9]{2} \([0-9.]+ to [0-9.]+\)'
for row in erl_call erl_ergon_call ergon_call erl_stream ergon_stream terms_stream packed_stream bare_stream; do
  bare=-
  [[ $row != *_stream ]] || bare=$ratio
  grep -qE "^$row( +[0-9]+\.[0-9]){3} +$ratio +$bare$" "$work/table" || { echo "no row $row"; failed=1; }
  [[ $(grep -cE "^$row,[12],[0-9]+\.[0-9]$" "$work/runs.csv") == 2 ]] || { echo "no runs of $row"; failed=1; }
done
grep -qE '^erl_call .* 1\.00 \(1\.00 to 1\.00\) +-$' "$work/table" || { echo "erl_call is not its own measure"; failed=1; }
[[ $failed == 0 ]] || cat "$work/table"

# What the memory grows by and the longest connect are told; they are looked at where they are measured, with many calls
# (scripts/check --long).
"$here/fire.sh" "$program" 150 >"$work/fire" || grep -qE '^(MiB more|longest) .*: does not hold$' "$work/fire" || failed=1
for row in alone fire; do
  grep -qE "^$row( +[0-9]+\.[0-9]){5} +150 +0/1$" "$work/fire" || { echo "no row $row"; failed=1; }
done
grep -qE '^MiB more .*: -?[0-9.]+: (holds|does not hold)$' "$work/fire" || { echo "no word on memory"; failed=1; }
grep -qE '^calls answered .*, of 150: 150: holds$' "$work/fire" || { echo "no word on calls"; failed=1; }
grep -qE '^connects that failed .*: 0: holds$' "$work/fire" || { echo "no word on connects"; failed=1; }
grep -qE '^longest connect .*: [0-9.]+: (holds|does not hold)$' "$work/fire" || { echo "no word on a connect"; failed=1; }
grep -qE '^rounds of the attackers: .*idle [1-9].*reflected [1-9].*silent [1-9]' "$work/fire" || { echo "no attackers"; failed=1; }
[[ $failed == 0 ]] || cat "$work/fire"

# refused TEXT WORD...
refused() {
  local text=$1 said status=0
  shift
  said=$("$program" "$@" 2>&1) || status=$?
  if [[ $status == 0 || $said != *"$text"* ]]; then
    echo "status $status, or not '$text': $*: $said"
    failed=1
  fi
}
refused "A subcommand is required"
refused "--peer is required" call --name a@127.0.0.1
refused "--what" stream --name a@127.0.0.1 --peer b@127.0.0.1 --what nothing
refused "--count" stream --name a@127.0.0.1 --peer b@127.0.0.1 --count 0
refused "bare" bare-stream --port 1 --count 1
exit $failed
