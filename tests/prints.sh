#!/usr/bin/env bash
# Runs an example and compares its standard output with the "// prints:" comment that ends its source.
#
# usage: prints.sh PROGRAM SOURCE
set -euo pipefail

program=$1
source=$2

expected=$(sed -n '/^\/\/ prints: /,$p' "$source" | sed -e 's|^// prints: ||' -e 's|^//         ||')
if [[ -z $expected ]]; then
  echo "$source does not end in a '// prints: ' comment"
  exit 1
fi
status=0
printed=$(timeout 60 "$program") || status=$?
if [[ $status != 0 ]]; then
  echo "FAIL $(basename "$program"): exit status $status, printed:"
  echo "$printed"
  exit 1
fi
if ! diff --label expected --label printed -u <(echo "$expected") <(echo "$printed"); then
  echo "FAIL $(basename "$program")"
  exit 1
fi
echo "ok   $(basename "$program")"
