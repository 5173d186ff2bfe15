#!/usr/bin/env bash
# usage: soak_test.sh ERGON_SOAK
#
# Its command line, and output that cannot be written. The laws are tried by ergon-soak itself.
set -euo pipefail
soak=$1
failed=0

# told STATUS TEXT WORD...: with standard output on a full disk.
told() {
  local expected=$1 text=$2 said status=0
  shift 2
  said=$("$soak" "$@" 2>&1 >/dev/full) || status=$?
  if [[ $status != "$expected" || $said != *"$text"* ]]; then
    echo "status $status instead of $expected, or not '$text': $*: $said"
    failed=1
  fi
}
told 1 "cannot write to standard output: No space left on device" --messages 1000 --no-progress
told 1 "" --help
told 2 "--seconds: " --seconds 0
told 2 "--seconds: " --seconds nan
told 2 "--seconds" --seconds -1
told 2 "--messages" --messages 1e99
told 2 "--seed" --seed -1
told 2 "--seed" --seed nan
told 2 "--workers: " --workers 1
exit $failed
