#!/usr/bin/env bash
# Tests what scripts/run prints. It runs in a checkout of its own, whose build is there already: nothing is
# installed or built.
#
# usage: run_script.sh TREESUM SOURCE_DIR
set -euo pipefail

treesum=$1
source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/checkout/scripts" "$work/checkout/build/release/examples" "$work/bin"
cp "$source_dir"/scripts/{run,common.sh} "$work/checkout/scripts"
cp -r "$source_dir/examples" "$work/checkout"
ln -s "$treesum" "$work/checkout/build/release/examples/treesum"
for command in "$work/checkout/scripts/setup" "$work/bin/cmake"; do
  printf '#!/bin/sh\necho "%s $*"\n' "$(basename "$command")" >"$command"
  chmod +x "$command"
done
export PATH=$work/bin:$PATH

failed=0
# same NAME DIR [ARGUMENT...]: what scripts/run prints for the arguments, next to find, sort and sha256sum.
same() {
  local name=$1 directory=$2
  shift 2
  find "$directory" -type f -print0 | sort -z | xargs -0 sha256sum -- >"$work/want"
  if ! checkout/scripts/run "$@" >"$work/out" 2>"$work/err" || ! cmp "$work/want" "$work/out"; then
    head -n 20 "$work/err"
    echo "FAIL: $name"
    failed=1
  fi
}
export LC_ALL=C
cd "$work"
same 'a directory' checkout/examples checkout/examples
# While somebody else builds there, it waits, and says so.
exec 8>checkout/build/release.lock
flock 8
checkout/scripts/run checkout/examples >out 2>err 8>&- &
running=$!
until grep -q '^== release: waiting for another build in .*/build/release$' err || ! kill -0 "$running" 2>/dev/null; do sleep 0.01; done
kill -0 "$running" 2>/dev/null || { echo 'FAIL: it builds while somebody else does'; failed=1; }
grep -q 'building' err && { echo 'FAIL: it does not wait'; failed=1; }
exec 8>&-
wait "$running" || { echo 'FAIL: after another build it does not go on'; failed=1; }
# With the log that the first run has left there.
same 'no directory: the checkout' "$work/checkout"
exit $failed
