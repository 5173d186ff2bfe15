#!/usr/bin/env bash
# Installs the build into an empty prefix, for the tests that use it as a user does. All of it is the component 'dev'.
#
# usage: install.sh BUILD_DIR PREFIX
set -euo pipefail

build_dir=$1
prefix=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# install PREFIX [ARGUMENT...]
install() {
  cmake --install "$build_dir" --prefix "$@" >"$work/log" 2>&1 || {
    tail -n 100 "$work/log"
    echo "FAIL: cannot install $build_dir"
    exit 1
  }
}
rm -rf "$prefix"
install "$prefix"
install "$work/dev" --component dev
[[ -s $prefix/share/ergon/gdb/ergon.py ]] || {
  echo "FAIL: the helper for gdb is not installed"
  exit 1
}
[[ -x $prefix/bin/ergon-top ]] || {
  echo "FAIL: ergon-top is not installed"
  exit 1
}
if ! difference=$(diff -r "$prefix" "$work/dev"); then
  echo "FAIL: what is installed belongs to the component 'dev', but: $difference"
  exit 1
fi
