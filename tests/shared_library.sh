#!/usr/bin/env bash
# With BUILD_SHARED_LIBS there is one library, libergon.so, with a soname; it shows what users include and hides the
# rooms. What runs needs the component 'runtime' only, and what is built nothing of the libraries that Ergon is built on.
#
# usage: shared_library.sh SOURCE_DIR COMPILER BUILD_DIR PREFIX EXAMPLES_DIR FLAGS
# Builds in BUILD_DIR, which may be there from before, with FLAGS for the compiler, and installs into PREFIX, both for the
# tests that come next. EXAMPLES_DIR has the examples' objects, of any build.
set -euo pipefail

source_dir=$1
compiler=$2
build_dir=$3
prefix=$4
examples_dir=$5
build_flags=$6
. "$(dirname "$0")/steps.sh"

# ---- what is built

# By somebody who hides what is his own.
quietly cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DBUILD_SHARED_LIBS=ON \
  -DERGON_BUILD_EXAMPLES=OFF -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_CXX_FLAGS="$build_flags" \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=64
quietly cmake --build "$build_dir"

# refuses OPTION: it contradicts BUILD_SHARED_LIBS, as CMake says in words that name both.
refuses() {
  local said
  rm -rf "$work/refused"
  if said=$(cmake -S "$source_dir" -B "$work/refused" -G Ninja -DBUILD_SHARED_LIBS=ON "-D$1=ON" 2>&1); then
    fail "$1=ON is accepted together with BUILD_SHARED_LIBS=ON"
  elif said=$(tr -s ' \n' ' ' <<<"$said") && [[ $said != *"$1 is ON, and so is BUILD_SHARED_LIBS: "* ]]; then
    fail "$1=ON and BUILD_SHARED_LIBS=ON are refused with other words: $said"
  fi
}
refuses ERGON_BUILD_TESTS
refuses ERGON_STATIC_PROGRAMS

# ---- what is installed

version=$(sed -nE 's/^project\(Ergon VERSION ([0-9.]+) .*/\1/p' "$source_dir/CMakeLists.txt")
soname=libergon.so.${version%.*}
[[ $version == 0.* ]] || soname=libergon.so.${version%%.*}
# installed FOLDER: the files and links there.
installed() { (cd "$1" && find . ! -type d | sort); }
rm -rf "$prefix" "$prefix.away"  # where this test moves it for a moment
quietly cmake --install "$build_dir" --prefix "$prefix"
quietly cmake --install "$build_dir" --prefix "$work/runtime" --component runtime
quietly cmake --install "$build_dir" --prefix "$work/dev" --component dev
found=$(installed "$work/runtime" | xargs -n 1 basename | paste -sd' ')
[[ $found == "$soname libergon.so.$version" ]] || fail "the component 'runtime' has $found"
found=$(cat <(installed "$work/runtime") <(installed "$work/dev") | sort)
difference=$(diff <(installed "$prefix") <(echo "$found")) ||
  fail "what is installed belongs to 'runtime' or to 'dev', but: $difference"
library=$(find "$work/runtime" -type f)
libraries=$(dirname "$library")
found=$(readelf -d "$library" | sed -nE 's/.*\(SONAME\).*\[(.*)\]/\1/p')
[[ $found == "$soname" ]] || fail "the soname of $library is '$found', not $soname"
[[ $(readlink "$(find "$work/dev" -name libergon.so)") == "$soname" ]] ||
  fail "libergon.so of the component 'dev' is no link to $soname"
found=$(installed "$work/dev" | grep '\.a$' | xargs -n 1 basename | paste -sd' ')
[[ $found == libergon_testkit.a ]] || fail "static libraries are installed, too: $found"

# ---- what it shows

nm -D --defined-only "$library" | awk '{print $3}' | sort >"$work/shown"
c++filt <"$work/shown" >"$work/shown_names"
for name in "ergon::node::Start(" "ergon::node::Node::Stop(" "vtable for ergon::act::Actor" \
  "typeinfo for ergon::gen::BadMessage" "ergon::core::Worker::Park(" ergon_debugger_anchor; do
  grep -qF "$name" "$work/shown_names" || fail "$(basename "$library") does not show $name"
done
found=$(grep -vE '\bergon::|^ergon_debugger_anchor$' "$work/shown_names" | head -n 5 || true)
[[ -z $found ]] || fail "$(basename "$library") shows what is not Ergon's own: $found"

# classes FILE...: that are defined there.
classes() {
  grep -hE '^(class|struct) [^;]*$' "$@" |
    sed -E 's/^(class|struct) (\[\[[^]]*\]\] |alignas\([^)]*\) )?([A-Za-z]+).*/\3/' | sort -u
}
mapfile -t public < <(find "$prefix/include/ergon" -name '*.h' | sort)
mapfile -t rooms < <(cd "$source_dir" && find core act node -mindepth 2 -name '*.h' | while read -r header; do
  [[ -e $prefix/include/ergon/$header ]] || echo "$source_dir/$header"
done)
hidden=$(comm -23 <(classes "${rooms[@]}") <(classes "${public[@]}"))
grep -qx Delivery <<<"$hidden" || fail "Delivery is not among the classes of rooms: $hidden"
echo "$(wc -l <"$work/shown") symbols are shown, none of $(wc -l <<<"$hidden") classes of rooms"
# That such a class is what the symbol is of, not what a function takes.
found=$(grep -E "^(.* (for|to) )?ergon::[a-z]+::($(paste -sd'|' <<<"$hidden"))\b" "$work/shown_names" |
  head -n 5 || true)
[[ -z $found ]] || fail "$(basename "$library") shows what rooms define: $found"

# Whatever users' programs need of Ergon.
find "$examples_dir" -name '*.o' -exec nm -u {} + | awk '{print $2}' | grep -E '^_Z[A-Z]*N[A-Z]*5ergon' | sort -u \
  >"$work/needed" || true
find "$examples_dir" -name '*.o' -exec nm --defined-only {} + | awk 'NF == 3 {print $3}' | sort -u >"$work/own"
[[ -s $work/needed ]] || fail "no examples in $examples_dir"
found=$(comm -23 "$work/needed" <(sort -u "$work/shown" "$work/own") | c++filt | grep -v testkit | head -n 5 || true)
[[ -z $found ]] || fail "$(basename "$library") hides what examples need: $found"

# ---- who uses it

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Ergon CONFIG REQUIRED)
add_executable(first "${FIRST}")
target_link_libraries(first PRIVATE ergon::ergon)
add_executable(parts parts.cc)
target_link_libraries(parts PRIVATE ergon::core ergon::gen ergon::act ergon::node ergon::testkit)
CMAKE
# shellcheck disable=SC2016  # no command
sed -n '/^```cpp$/,/^```$/{/^```/!p;/^```$/q}' "$source_dir/README.md" >"$work/user/first.cc"
# All targets by their names, with types of both sides and an exception of the library.
cat >"$work/user/parts.cc" <<'CODE'
#include <cstdio>

#include <ergon/act/actor.h>
#include <ergon/testkit/simulation.h>

using namespace ergon;

struct Half {};
class Halves : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    try {
      (void)message.Take<Half>();
    } catch (const gen::BadMessage& bad) {
      std::printf("%s\n", bad.what());
      throw;
    }
    return gen::Continue();
  }
};

int main() {
  testkit::Simulation simulation(1);
  auto& node = simulation.Node("test@localhost");
  const gen::PID halves = node.Spawn(gen::Factory<Halves>()).value();
  (void)node.Send(halves, Half{});
  (void)node.Send(halves, 7);
  simulation.RunUntilIdle();
  simulation.ExpectConservation();
}
CODE
quietly cmake -S "$work/user" -B "$work/user/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$prefix" -DFIRST="$work/user/first.cc" \
  -DCMAKE_DISABLE_FIND_PACKAGE_{Boost,spdlog,OpenSSL}=ON
quietly cmake --build "$work/user/build"
needed=$(readelf -d "$work/user/build/first" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | paste -sd' ')
[[ " $needed " == *" $soname "* ]] || fail "a program needs $needed, not $soname"
[[ ! " $needed " =~ (boost|spdlog|ssl|crypto) ]] || fail "a program needs more than $soname: $needed"
# runs PROGRAM TEXT: it prints that with no more than the component 'runtime'.
runs() {
  local printed
  printed=$(LD_LIBRARY_PATH=$libraries "$1") || fail "$1 ends with $?"
  [[ $printed == "$2" ]] || fail "$1 prints '$printed', not '$2'"
}
mv "$prefix" "$prefix.away"
runs "$work/user/build/first" 144
runs "$work/user/build/parts" "message is int, not Half"
mv "$prefix.away" "$prefix"

if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ergon.pc)")
  export PKG_CONFIG_PATH
  flags=$(pkg-config --cflags --libs ergon)
  # shellcheck disable=SC2086  # a list of flags
  quietly "$compiler" -std=c++20 "$work/user/first.cc" $flags -o "$work/named"
  runs "$work/named" 144
fi

grep -q -- '-DBUILD_SHARED_LIBS=ON' "$source_dir/examples/guide/building.md" || fail "the guide does not name BUILD_SHARED_LIBS"
exit $failed
