#!/usr/bin/env bash
# A program linked with -static has Ergon and all that it is built on inside, and works: processes, calls, timers, an
# exception in a handler, an orderly end.
#
# usage: static_program.sh SOURCE_DIR COMPILER BUILD_DIR
# Builds Ergon in BUILD_DIR, which may be there from before.
set -euo pipefail

source_dir=$1
compiler=$2
build_dir=$3
. "$(dirname "$0")/steps.sh"

# With the least work for the compiler.
quietly cmake -S "$source_dir" -B "$build_dir" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DERGON_STATIC_PROGRAMS=ON \
  -DERGON_BUILD_TESTS=OFF -DERGON_BUILD_EXAMPLES=OFF -DERGON_TESTKIT=OFF -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_FLAGS=-O0 -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=64
quietly cmake --build "$build_dir"
quietly cmake --install "$build_dir" --prefix "$work/prefix"

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Ergon CONFIG REQUIRED)
if(Boost_USE_STATIC_LIBS OR OPENSSL_USE_STATIC_LIBS)
  message(FATAL_ERROR "find_package(Ergon) sets variables for other packages of the project")
endif()
add_executable(program program.cc)
target_link_libraries(program PRIVATE ergon::ergon)
target_link_options(program PRIVATE -static)
CMAKE
cat >"$work/user/program.cc" <<'CODE'
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include <ergon/act/actor.h>
#include <ergon/act/pool.h>
#include <ergon/gen/match_request.h>
#include <ergon/node/erlang.h>
#include <ergon/node/node.h>

using namespace ergon;
using namespace std::chrono_literals;

struct Square {
  using Reply = int;
  int value = 0;
};
class Worker : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request,
        [](const Square& square) {
          if (square.value < 0) throw std::domain_error("negative");
          return square.value * square.value;
        },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }
};
class Squares : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2, .worker_factory = gen::Factory<Worker>()};
  }
};

int main(int count, char**) {
  gen::NodeOptions options;
  if (count > 1) options.network = dist::Erlang({.cookie = "secret"});  // linked, with TLS and all
  auto node = node::Start("static@127.0.0.1", options).value();
  const gen::PID pool = node.Spawn(gen::Factory<Squares>()).value();
  std::printf("%d\n", node.Call(pool, Square{12}).value());
  std::printf("%s\n", node.Call(pool, Square{-1}).error().ToString().c_str());
  const gen::PID sleeper = node.Spawn([&](gen::Process& self) {
    self.SendAfter(self.Self(), 7, 5ms).value();
    const int seven = self.Receive<int>(10s).value();
    auto asked = self.Receive<gen::Asked<int>>();
    (void)self.Reply(*asked, seven * asked->value);
  }).value();
  std::printf("%d\n", node.Call<int>(sleeper, 6).value());
  node.Stop();
  node.Wait();
}
CODE
expected="144
process terminated: panic: negative (handling Square)
42"
# works PROGRAM: it prints what it has to, and nothing is loaded at run time.
works() {
  local printed
  printed=$(timeout 60 "$1" 2>"$work/log") || fail "$1 ends with $?: $(cat "$work/log")"
  [[ $printed == "$expected" ]] || fail "$1 prints '$printed', not '$expected'"
  printed=$(readelf -ld "$1" | grep -E 'INTERP|NEEDED' || true)
  [[ -z $printed ]] || fail "$1 is not static: $printed"
}
# Only what users link: they need no spdlog.
quietly cmake -S "$work/user" -B "$work/user/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_DISABLE_FIND_PACKAGE_spdlog=ON
quietly cmake --build "$work/user/build"
works "$work/user/build/program"

if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name ergon.pc)")
  export PKG_CONFIG_PATH
  flags=$(pkg-config --cflags --libs --static ergon)
  # shellcheck disable=SC2086  # a list of flags
  quietly "$compiler" -std=c++20 "$work/user/program.cc" $flags -static -o "$work/named"
  works "$work/named"
fi

grep -q -- '-DERGON_STATIC_PROGRAMS=ON' "$source_dir/examples/guide/building.md" || fail "the guide does not name ERGON_STATIC_PROGRAMS"
exit $failed
