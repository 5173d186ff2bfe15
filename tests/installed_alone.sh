#!/usr/bin/env bash
# To install Ergon is to build its libraries and nothing else, and a project that contains Ergon gets the libraries
# and nothing else: no tests, no examples, no test kit, nothing to install.
#
# usage: installed_alone.sh SOURCE_DIR COMPILER
set -euo pipefail

source_dir=$1
compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quietly() {
  "$@" >"$work/log" 2>&1 || {
    tail -n 100 "$work/log"
    echo "FAIL: $*"
    exit 1
  }
}
failed=0
fail() {
  echo "FAIL: $*"
  failed=1
}

# builds BUILD_DIR: the programs and libraries that are built there, one per line.
builds() {
  ninja -C "$1" -t targets all | sed -nE 's/^(.*): (CXX_(EXECUTABLE|STATIC_LIBRARY|SHARED_LIBRARY)_LINKER).*/\1/p' |
    sed -E 's|.*/||' | sort | paste -sd' '
}
# tests BUILD_DIR: how many.
tests() { ctest --test-dir "$1" --show-only | sed -n 's/^Total Tests: //p'; }

libraries="libergon_act.a libergon_core.a libergon_gen.a libergon_node.a"

cd "$source_dir"
grep -q 'cmake --preset install' README.md || fail "README.md does not install with the preset 'install'"
# Without what only tests and examples need.
quietly cmake --preset install -B "$work/install" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_DISABLE_FIND_PACKAGE_{doctest,CLI11}=ON
found=$(builds "$work/install")
[[ $found == "$libraries libergon_testkit.a" ]] || fail "the preset 'install' builds $found"
[[ $(tests "$work/install") == 0 ]] || fail "the preset 'install' has tests"
# Where ccache has no folder that it can write, as below HOME=/nonexistent, it is left out.
quietly env CCACHE_DIR=/proc/nowhere cmake --preset install -B "$work/install" -DCMAKE_CXX_COMPILER="$compiler"
! grep -q CCACHE_DEPEND "$work/install/CMakeFiles/rules.ninja" || fail "ccache is used without a folder of its own"

mkdir "$work/parent"
cd "$work/parent"
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
enable_testing()
add_subdirectory("${ERGON}" ergon)
add_executable(program main.cc)
target_link_libraries(program PRIVATE ergon::ergon)
add_test(NAME own COMMAND program)
install(FILES main.cc DESTINATION share)
CMAKE
cat >main.cc <<'CODE'
#include <ergon/node/node.h>
int main() { return ergon::node::Start("parent@localhost").has_value() ? 0 : 1; }
CODE
quietly cmake -S . -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DERGON="$source_dir"
found=$(builds build)
[[ $found == "$libraries program" ]] || fail "a project that contains Ergon builds $found"
[[ $(tests build) == 1 ]] || fail "a project that contains Ergon has $(tests build) tests, not its own one"
! grep -qw -e -Wall build/build.ninja || fail "a project that contains Ergon compiles it with -Wall, and may have -Werror"
quietly cmake --install build --prefix "$work/prefix"
found=$(cd "$work/prefix" && find . -type f)
[[ $found == ./share/main.cc ]] || fail "a project that contains Ergon installs $found"
quietly cmake --build build --target CMakeFiles/program.dir/main.cc.o

quietly cmake build -DERGON_TESTKIT=ON
found=$(builds build)
[[ $found == "$libraries libergon_testkit.a program" ]] || fail "who asks for the test kit builds $found"
exit $failed
