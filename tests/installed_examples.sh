#!/usr/bin/env bash
# A user's first day, in a project that only knows find_package(Ergon): the numbered examples are linked, run, and what they
# print is compared. The build has compiled them already; here the test example is compiled once more, all that is
# installed to be included, as one file, and the first program of README.md, with the lines that stand there.
#
# usage: installed_examples.sh PREFIX SOURCE_DIR COMPILER [EXAMPLE=OBJECT...]
# PREFIX is where Ergon is installed.
set -euo pipefail

prefix=$1
source_dir=$2
compiler=$3
shift 3
examples=("${@%%=*}")
objects=("${@#*=}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quietly() {
  "$@" >"$work/log" 2>&1 || {
    tail -n 100 "$work/log"
    echo "FAIL: $*"
    exit 1
  }
}

# Installed headers include only installed headers, so a look at each one finds every leak.
# But for await.h, boost_await.h and cereal.h with its room, which are for those who use Asio, Boost.Asio and cereal.
if leaks=$(grep -rnE --exclude=await.h --exclude=boost_await.h --exclude=cereal.h --exclude-dir=packed \
  '^\s*#\s*include <(asio|boost|cereal|ei|openssl|spdlog|CLI|toml\+\+)[/.>]' \
  "$prefix/include/ergon"); then
  echo "installed headers include libraries that users shall not need; such headers belong into a room:"
  echo "${leaks//"$prefix/include/"/}"
  exit 1
fi

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(first_day LANGUAGES CXX)
find_package(Ergon 0.1 CONFIG REQUIRED)
if(DEFINED Boost_NO_WARN_NEW_VERSIONS)
  message(FATAL_ERROR "find_package(Ergon) sets variables for other packages of the project")
endif()
add_compile_options(-Wall -Wextra -Wpedantic -Werror)
add_library(headers OBJECT headers.cc)
target_link_libraries(headers PRIVATE ergon::ergon ergon::testkit)
set_source_files_properties(${OBJECTS} PROPERTIES EXTERNAL_OBJECT TRUE)
foreach(name source IN ZIP_LISTS EXAMPLES OBJECTS)
  if(name MATCHES "_test_")
    set(source "${SOURCE_DIR}/examples/${name}.cc")
  endif()
  add_executable(${name} "${source}")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE ergon::ergon)
  if(name MATCHES "_test_")
    target_link_libraries(${name} PRIVATE ergon::testkit)
  endif()
endforeach()
CMAKE
sources=("${examples[@]/#/$source_dir/examples/}")
sources=("${sources[@]/%/.cc}")
# What the examples include, and whatever else is there, but for those above.
{
  grep -h '^#include <ergon/' "${sources[@]}"
  (cd "$prefix/include" && find ergon -name '*.h' ! -name await.h ! -name boost_await.h ! -name cereal.h ! -path '*/packed/*') |
    sed 's/.*/#include <&>/'
} | sort -u >"$work/project/headers.cc"
# With the least work for the compiler, and a quick linker; the first program of README.md has the usual one.
linker=()
! command -v mold >/dev/null || linker=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold)
list() { (IFS=';' && echo "$*"); }
quietly cmake -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_CXX_FLAGS=-O0 "${linker[@]}" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" -DSOURCE_DIR="$source_dir" \
  -DEXAMPLES="$(list "${examples[@]}")" -DOBJECTS="$(list "${objects[@]}")"
quietly cmake --build "$work/build"

# The lines of the first block of README.md that begins with this word.
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p;/^\`\`\`\$/q}" "$source_dir/README.md"; }
mkdir "$work/readme"
block cpp >"$work/readme/readme.cc"
{
  echo 'cmake_minimum_required(VERSION 3.25)'
  echo 'project(readme LANGUAGES CXX)'
  echo 'add_executable(your_program readme.cc)'
  block cmake
} >"$work/readme/CMakeLists.txt"
quietly grep -q 'find_package(Ergon' "$work/readme/CMakeLists.txt"
quietly cmake -S "$work/readme" -B "$work/readme/build" -G Ninja -DCMAKE_CXX_FLAGS=-O0 \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/readme/build"

failed=0
printed=$("$work/readme/build/your_program")
if [[ $printed != 144 ]]; then
  echo "FAIL: the first program of README.md prints '$printed', not 144"
  failed=1
fi
for example in "${examples[@]}"; do
  if [[ $example == *_test_* ]]; then
    "$work/build/$example" || failed=1
    continue
  fi
  "$here/prints.sh" "$work/build/$example" "$source_dir/examples/$example.cc" || failed=1
done
exit $failed
