#!/usr/bin/env bash
# Each page of the guide begins with a whole program and what it prints: they are built in a project that only knows
# find_package(Ergon), run, and compared.
#
# usage: guide.sh PREFIX SOURCE_DIR COMPILER
# PREFIX is where Ergon is installed.
set -euo pipefail

prefix=$1
source_dir=$2
compiler=$3
. "$(dirname "$0")/steps.sh"

# block PAGE WORD: the lines of the first block that begins with this word.
block() { sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/{/^\`\`\`/!p;/^\`\`\`\$/q}" "$1"; }

mkdir "$work/project"
pages=()
for page in "$source_dir"/examples/guide/*.md; do
  name=$(basename "$page" .md)
  [[ $name != README && $name != building ]] || continue  # building: the other tests of packages
  pages+=("$name")
  block "$page" cpp >"$work/project/$name.cc"
  block "$page" text >"$work/project/$name.txt"
  [[ -s $work/project/$name.cc && -s $work/project/$name.txt ]] || fail "$name.md has no program, or not what it prints"
  grep -qF "($name.md)" "$source_dir/examples/guide/README.md" || fail "the guide's README.md does not name $name.md"
done
cat >"$work/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(guide LANGUAGES CXX)
find_package(Ergon CONFIG REQUIRED)
foreach(page IN LISTS PAGES)
  add_executable(${page} ${page}.cc)
  target_link_libraries(${page} PRIVATE ergon::ergon ergon::testkit)
  target_compile_options(${page} PRIVATE -Wall -Wextra -Wpedantic -Werror)
endforeach()
CMAKE
# With the least work for the compiler.
quietly cmake -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_CXX_FLAGS=-O0 -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$prefix" -DPAGES="$(IFS=';' && echo "${pages[*]}")"
quietly cmake --build "$work/build"

# Its nodes have an EPMD of their own.
export ERL_EPMD_PORT=$((20000 + $$ % 6000))
for name in "${pages[@]}"; do
  if [[ $name == clusters ]]; then
    if ! command -v epmd >/dev/null; then
      echo "clusters: not run, there is no epmd here (Debian package erlang-base)"
      continue
    fi
    epmd &
    trap 'kill $! 2>/dev/null; rm -rf "$work"' EXIT
  fi
  printed=$(timeout 120 "$work/build/$name" 2>"$work/log") || fail "$name ends with $?: $(cat "$work/log")"
  [[ $printed == "$(<"$work/project/$name.txt")" ]] || fail "$name prints: $printed"
done
exit $failed
