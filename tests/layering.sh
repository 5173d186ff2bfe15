#!/usr/bin/env bash
# A layer sees itself and the layers below it, and users see none of the libraries we build on.
#
# usage: layering.sh SOURCE_DIR ROOTS COMPILER [FLAG...]
# ROOTS is a file with one line per layer: its name and its include folders.
set -euo pipefail

source_dir=$1
roots=$2
shift 2
compiler=("$@")

declare -A visible=([core]="core" [gen]="core gen" [act]="core gen act" [node]="core gen node")
declare -A include_flags
while read -r layer folders; do
  include_flags[$layer]="-I${folders// / -I}"
done <"$roots"

# What the headers of actors must not drag into a user's program.
hidden_libraries='asio|boost|cereal|ei|erl_interface|openssl|spdlog'

failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# compile LAYER MODE: the program on stdin, as a file of that layer; prints what the compiler says.
compile() {
  # shellcheck disable=SC2086  # a list of flags
  "${compiler[@]}" -std=c++20 ${include_flags[$1]} "$2" -x c++ - -o /dev/null 2>&1
}

checked=0
for layer in core gen act node; do
  for other in core gen act node; do
    header=$(cd "$source_dir/$other" && find . -name '*.h' -printf '%P\n' | sort | head -n 1)
    [[ -n $header ]] || continue
    include="#include <ergon/$other/$header>"
    if [[ " ${visible[$layer]} " == *" $other "* ]]; then
      said=$(compile "$layer" -E <<<"$include") || fail "$layer must see $other: $include: $said"
    elif said=$(compile "$layer" -fsyntax-only <<<"$include"); then
      fail "a file in $layer compiles with $include"
    elif [[ $said != *"ergon/$other/$header: No such file"* ]]; then
      fail "in $layer, $include fails for another reason than expected: $said"
    fi
    checked=$((checked + 1))
  done
done
echo "$checked pairs of layers compiled"

# Any other spelling would walk around the include roots.
if found=$(cd "$source_dir" && grep -rnE --include='*.h' --include='*.cc' \
  '^\s*#\s*include\s*("|<[^>]*\.\.)' core gen act node); then
  fail "headers are included as <ergon/layer/file.h>:"$'\n'"$found"
fi

for program in "$source_dir"/examples/[0-9]*.cc; do
  [[ -e $program ]] || continue
  # shellcheck disable=SC2086
  if ! reached=$("${compiler[@]}" -std=c++20 ${include_flags[testkit]} \
    -M "$program" 2>&1); then
    fail "$program: $reached"
  elif leaks=$(grep -oE "[^ ]*/include/([^ ]*/)?($hidden_libraries)(/|\.h)[^ ]*" <<<"$reached"); then
    fail "$program reaches"$'\n'"$(head -n 3 <<<"$leaks")"
  else
    echo "$(basename "$program") reaches $(wc -w <<<"$reached") headers, none of a hidden library"
  fi
done

[[ $failures == 0 ]]
