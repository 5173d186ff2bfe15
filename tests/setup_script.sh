#!/usr/bin/env bash
# scripts/setup installs what is missing although a source of packages is gone, and says so; and where there is no Debian it
# fails as long as a tool is missing that every build needs. Nothing is installed here: its commands are others.
#
# usage: setup_script.sh SOURCE_DIR
set -euo pipefail

source_dir=$1
. "$(dirname "$0")/steps.sh"

mkdir "$work/bin"
# command_is NAME LINE: a command of that name does this.
command_is() {
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod 755 "$work/bin/$1"
}
for name in bash basename cat dirname env grep mktemp nproc readlink rm sed tail; do
  ln -s "$(command -v "$name")" "$work/bin/$name"
done
# says TEXT STATUS [OPTION...]: so scripts/setup ends, and says that.
says() {
  local said status=0
  said=$(PATH="$work/bin" "$source_dir/scripts/setup" "${@:3}" 2>&1) || status=$?
  [[ $status == "$2" && $said == *"$1"* ]] || fail "setup ends with $status, not $2, or not with '$1': $said"
}

# ---- no Debian

command_is cmake ''
says "this is no Debian system" 1
command_is ninja ''
says "this is no Debian system" 1
command_is c++ ''
says "this is no Debian system" 0

# ---- a Debian without packages

command_is id 'echo 0'
command_is dpkg-query 'exit 1'
command_is apt-get "for word; do [ \$word != update ] || { echo 'no such source'; exit 100; }; done; echo \"\$@\" >'$work/asked'"
says "no such source" 0
says "going on with the lists of packages that are here" 0
[[ $(<"$work/asked") == *" install "*" make "* ]] || fail "asked for $(<"$work/asked")"
command_is apt-get "echo 'no such package'; exit 100"
says "no such package" 1
says "apt-get install g++ cmake " 1

# ---- a Debian without Clang: the default compiler does

command_is apt-get "for word; do [ \$word != clang-19 ] || { echo 'no such package'; exit 100; }; done"
says "going on without clang-19 " 0 --sanitizers
exit $failed
