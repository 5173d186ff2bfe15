#!/usr/bin/env bash
# What scripts/check asks clang-tidy to look at, in a checkout whose path has characters that mean something to a shell and
# in a regular expression: each source file, and nothing else. It runs in a checkout of its own; nothing is installed or built.
#
# usage: check_script.sh SOURCE_DIR
set -euo pipefail

source_dir=$1
. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

checkout="$work/c++ (a|b) [1]*&.x/ergon"
mkdir -p "$checkout/scripts" "$work/bin"
cp "$source_dir"/scripts/{check,common.sh} "$checkout/scripts"
for folder in core gen act node tests/testkit examples; do
  mkdir -p "$checkout/$folder"
  touch "$checkout/$folder/some.thing+more.cc"
done
printf '#!/bin/sh\n' | tee "$checkout/scripts/setup" >"$work/bin/cmake"
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/asked"\n' "$work" >"$work/bin/run-clang-tidy"
chmod +x "$checkout/scripts/setup" "$work"/bin/*
PATH=$work/bin:$PATH quietly "$checkout/scripts/check" tidy

# Those who match an expression of the arguments.
matched() {
  local pattern
  while IFS= read -r pattern; do
    [[ $1 =~ $pattern ]] && return
  done < <(grep '^\^' "$work/asked")
  return 1
}
while IFS= read -r file; do
  matched "$file" || fail "clang-tidy is not asked for $file"
  ! matched "${file/thing/thong}" || fail "clang-tidy is asked for more than $file"
  ! matched "${file/.thing+more/_thinggmore}" || fail "clang-tidy is asked for more than $file"
done < <(find "$checkout" -name '*.cc')
[[ $(grep -c '^\^' "$work/asked") == 6 ]] || fail "clang-tidy is not asked for six files: $(<"$work/asked")"
exit $failed
