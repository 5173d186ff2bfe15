#!/usr/bin/env bash
# A layer sees itself and the layers below it, a room of a layer those above it in the layer's README, files include each
# other without a circle, what rooms keep for themselves is not installed, and users see none of the libraries we build
# on.
#
# usage: layering.sh SOURCE_DIR ROOTS INSTALLED COMPILER [FLAG...]
# ROOTS is a file with one line per layer: its name and its include folders. INSTALLED is one with the
# headers that are installed.
set -euo pipefail

source_dir=$1
roots=$2
installed=$3
shift 3
compiler=("$@")

declare -A visible=([core]="core" [gen]="core gen" [act]="core gen act" [node]="core gen node")
# include_flags LAYER: one a line. The paths are absolute, and may have spaces.
include_flags() { sed -n "s/^$1 /-I/p" "$roots" | sed 's# /#\n-I/#g'; }

# What the headers of actors must not drag into a user's program.
hidden_libraries='asio|boost|cereal|ei|erl_interface|openssl|spdlog'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# compile LAYER MODE: the program on stdin, as a file of that layer; prints what the compiler says.
compile() {
  local flags
  mapfile -t flags < <(include_flags "$1")
  "${compiler[@]}" -std=c++20 "${flags[@]}" "$2" -x c++ - -o /dev/null 2>&1
}

checked=0
for layer in core gen act node; do
  for other in core gen act node; do
    header=$(cd "$source_dir/$other" && find . -maxdepth 1 -name '*.h' -printf '%P\n' | sort | head -n 1)
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

# includes FILE...: "file included" for each header of ours, as paths from the source folder.
includes() {
  local found
  found=$(cd "$source_dir" && grep -HoE '^\s*#\s*include <ergon/[^>]+>' "$@") || true
  [[ -z $found ]] || printf '%s\n' "$found" |
    sed -E 's|:\s*#\s*include <ergon/| |; s|>$||'
}

# What lies directly in a layer's folder is what users include; what lies in its rooms is its own. So
# installed are the former, and what they need of rooms (INSTALLED in the layer's CMakeLists.txt).
declare -A expected=()
waiting=()
for layer in core gen act node; do
  while read -r header; do waiting+=("$header"); done \
    < <(cd "$source_dir" && find "$layer" -maxdepth 1 -name '*.h')
done
while [[ ${#waiting[@]} != 0 ]]; do
  new=()
  for header in "${waiting[@]}"; do
    [[ -z ${expected[$header]:-} ]] || continue
    expected[$header]=1
    new+=("$header")
  done
  waiting=()
  [[ ${#new[@]} != 0 ]] || break
  while read -r _ header; do waiting+=("$header"); done < <(includes "${new[@]}")
done
if ! difference=$(diff <(printf '%s\n' "${!expected[@]}" | sort) \
  <(sed -nE 's|^.*/ergon/((core\|gen\|act\|node)/.*)$|\1|p' "$installed" | sort)); then
  fail "installed headers (>) and those that users can reach (<) differ:"$'\n'"$difference"
fi
echo "${#expected[@]} headers are installed, and no others"

# "file included" for each include, without endings: a header and its source are one module.
mapfile -t all_files < <(cd "$source_dir" && find core gen act node -name '*.h' -o -name '*.cc')
edges=$(includes "${all_files[@]}" | sed -E 's/\.(h|cc)\b//g' | awk '$1 != $2')

# The rooms of the layers, in the order of their README.md, where "| `room/` |" begins a line.
for layer in core gen act node; do
  sed -nE "s#^\\| \`([a-z_/]+)/\` \\| .*#$layer/\\1#p" "$source_dir/$layer/README.md"
done >"$work/rooms"
if ! difference=$(diff <(sort "$work/rooms") \
  <(printf '%s\n' "${all_files[@]}" | sed -nE 's|^([a-z]+/.+)/[^/]+$|\1|p' | sort -u)); then
  fail "rooms that there are (>) and those of the README of their layer (<) differ:"$'\n'"$difference"
fi

# upwards [EXTRA]: the includes that lead from a room to one below it in the README, also through files that lie
# directly in a layer's folder, which have no place in the order. EXTRA is one more line "module included".
upwards() {
  printf '%s\n' "$edges" "${1:-}" | awk '
    function room_of(module) { sub("/[^/]+$", "", module); return module }
    function look(from, module, way,    i, below) {
      if (room_of(module) in place) {
        if (place[room_of(from)] < place[room_of(module)]) print from " includes " way module
      } else if (!seen[from, module]++) {
        split(included[module], below)
        for (i in below) look(from, below[i], way module ", which includes ")
      }
    }
    NR == FNR { place[$1] = NR; next }
    room_of($1) in place { sources[++count] = $1; targets[count] = $2; next }
    { included[$1] = included[$1] " " $2 }
    END { for (edge = 1; edge <= count; ++edge) look(sources[edge], targets[edge], "") }' "$work/rooms" -
}
# circle [EXTRA]: the modules that include each other in a circle. rooms [EXTRA]: the same for rooms and what lies
# directly in a layer's folder, so that there is one order for all of it.
sorted() {
  tsort 2>&1 >/dev/null | sed 's/^tsort: //' || true
}
circle() {
  printf '%s\n' "$edges" "${1:-}" | sorted
}
rooms() {
  printf '%s\n' "$edges" "${1:-}" | sed -E 's#\b([a-z]+(/[a-z_]+)+)/[a-z_]+\b#\1/#g' | awk '$1 != $2' | sort -u | sorted
}
if found=$(upwards) && [[ -n $found ]]; then
  fail "a room uses those above it in its layer's README, and never one below:"$'\n'"$found"
fi
if found=$(circle) && [[ -n $found ]]; then
  fail "files that include each other in a circle:"$'\n'"$found"
fi
if found=$(rooms) && [[ -n $found ]]; then
  fail "rooms that include each other in a circle:"$'\n'"$found"
fi
if [[ $(upwards "node/delivery/delivery node/process/runner") != *runner ]]; then
  fail "an include from a room to one below it that was put in is not found"
fi
if [[ $(upwards "node/delivery/delivery node/option_keys") != *"option_keys, which includes node/options/"* ]]; then
  fail "an include from a room to a file that includes one below it, which was put in, is not found"
fi
if [[ -z $(circle "core/messages/envelope gen/messenger") ]]; then
  fail "a circle of files that was put in is not found"
fi
if [[ -z $(rooms "node/runtime/runtime node/await") ]]; then
  fail "a circle of a room and a file that was put in is not found"
fi
echo "$(wc -l <"$work/rooms") rooms use those above them only, and no file includes itself in a circle"

# A class that needs more than that has more than one subject.
while read -r lines header; do
  fail "$header has $lines lines; 250 are enough for a class"
done < <(cd "$source_dir" && find core gen act node -name '*.h' -exec wc -l {} + |
  awk '$1 > 250 && $2 != "total"')

# Any other spelling would walk around the include roots.
if found=$(cd "$source_dir" && grep -rnE --include='*.h' --include='*.cc' \
  '^\s*#\s*include\s*("|<[^>]*\.\.)' core gen act node); then
  fail "headers are included as <ergon/layer/file.h>:"$'\n'"$found"
fi

# What an actor's own file need not see: it would take half as long again to compile.
heavy='ergon/gen/node\.h|ergon/core/messages/rotation\.h|fmt/format\.h|c\+\+/[0-9]+/(any|atomic|future)'
mapfile -t flags < <(include_flags act)
if ! reached=$("${compiler[@]}" -std=c++20 "${flags[@]}" -M -x c++ - \
  <<<'#include <ergon/act/actor.h>' 2>&1); then
  fail "ergon/act/actor.h: $reached"
elif leaks=$(grep -oE "[^ ]*/($heavy)\b" <<<"$reached"); then
  fail "a file with an actor reaches"$'\n'"$leaks"
fi

mapfile -t flags < <(include_flags testkit)
for program in "$source_dir"/examples/[0-9]*.cc; do
  [[ -e $program ]] || continue
  if ! reached=$("${compiler[@]}" -std=c++20 "${flags[@]}" \
    -M "$program" 2>&1); then
    fail "$program: $reached"
  elif leaks=$(grep -oE "[^ ]*/include/([^ ]*/)?($hidden_libraries)(/|\.h)[^ ]*" <<<"$reached"); then
    fail "$program reaches"$'\n'"$(head -n 3 <<<"$leaks")"
  else
    echo "$(basename "$program") reaches $(wc -w <<<"$reached") headers, none of a hidden library"
  fi
done

[[ $failures == 0 ]]
