# shellcheck shell=bash disable=SC2034
# Sourced by tests of several steps, after `set -euo pipefail`: a scratch folder $work, which is removed at the end, and
# what they say when a step fails. They end with `exit $failed`.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed=0
fail() {
  echo "FAIL: $*"
  failed=1
}
# quietly COMMAND...: prints the end of what it says, and ends the test, only if it fails.
quietly() {
  "$@" >"$work/log" 2>&1 || {
    tail -n 100 "$work/log"
    echo "FAIL: $*"
    exit 1
  }
}
