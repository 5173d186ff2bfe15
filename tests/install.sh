#!/usr/bin/env bash
# Installs the build into an empty prefix, for the tests that use it as a user does.
#
# usage: install.sh BUILD_DIR PREFIX
set -euo pipefail

build_dir=$1
prefix=$2

rm -rf "$prefix"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --install "$build_dir" --prefix "$prefix" >"$log" 2>&1 || {
  tail -n 100 "$log"
  echo "FAIL: cannot install $build_dir"
  exit 1
}
