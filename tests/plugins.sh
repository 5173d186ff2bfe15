#!/usr/bin/env bash
# A plugin, loaded with RTLD_LOCAL by a program that exports nothing: with the shared library its processes live on the
# program's node, and both know each other's messages, atoms and exceptions. With static libraries in both, the program
# ends with one sentence that says what to do. A plugin alone may have static ones.
#
# usage: plugins.sh STATIC_PREFIX SOURCE_DIR COMPILER SHARED_PREFIX
# Ends with 77 where there is no pkg-config.
set -euo pipefail

static_prefix=$1
source_dir=$2
compiler=$3
shared_prefix=$4
command -v pkg-config >/dev/null || exit 77
. "$(dirname "$0")/steps.sh"
cd "$work"
# flags PREFIX OPTION...: what pkg-config says of the Ergon there.
flags() {
  local pc
  pc=$(find "$1" -name ergon.pc)
  shift
  PKG_CONFIG_PATH=$(dirname "$pc") pkg-config "$@" ergon
}

cat >job.h <<'CODE'
#include <stdexcept>
#include <string>

struct Job {
  using Reply = std::string;
  std::string text;
};
struct Done {
  std::string text;
};
struct Empty : std::runtime_error {
  using std::runtime_error::runtime_error;
};
CODE
cat >plugin.cc <<'CODE'
#include "job.h"

#include <ergon/act/actor.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/match_request.h>
#include <ergon/gen/node.h>

using namespace ergon;

class Worker : public act::Actor {
 public:
  explicit Worker(gen::PID reporter) : reporter_(reporter) {}

 private:
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request,
        [&](const Job& job) {
          if (job.text.empty()) throw Empty("no text");
          Send(reporter_, Done{job.text}).value();
          return job.text + job.text;
        },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }
  gen::PID reporter_;
};

extern "C" [[gnu::visibility("default")]] void Begin(gen::Node& node, gen::PID reporter) {
  node.SpawnRegister("worker", gen::Factory<Worker>(reporter)).value();
}
extern "C" [[gnu::visibility("default")]] void Check(const std::string& text) {
  if (text.empty()) throw Empty("nothing to check");
}
CODE
cat >host.cc <<'CODE'
#include <cstdio>
#include <future>

#include <dlfcn.h>

#include <ergon/node/node.h>

#include "job.h"

using namespace ergon;

int main(int, char** arguments) {
  void* plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  auto begin = reinterpret_cast<void (*)(gen::Node&, gen::PID)>(dlsym(plugin, "Begin"));
  auto check = reinterpret_cast<void (*)(const std::string&)>(dlsym(plugin, "Check"));

  auto node = node::Start("host@localhost").value();
  std::promise<std::string> reported;
  const gen::PID reporter = node.Spawn([&](gen::Process& self) {
    reported.set_value(self.Receive<Done>()->text);
  }).value();
  begin(node, reporter);
  std::printf("%s\n", node.Call(gen::Atom("worker"), Job{"na"}).value().c_str());
  std::printf("%s\n", reported.get_future().get().c_str());
  std::printf("%s\n", node.Call(gen::Atom("worker"), Job{}).error().ToString().c_str());
  try {
    check("");
  } catch (const Empty& empty) {
    std::printf("%s\n", empty.what());
  }
}
CODE
cat >alone.cc <<'CODE'
#include <chrono>

#include <ergon/node/node.h>

using namespace ergon;

// 12, squared by a process after a while.
extern "C" [[gnu::visibility("default")]] int Run() {
  auto node = node::Start("plugin@localhost").value();
  const gen::PID square = node.Spawn([](gen::Process& self) {
    auto asked = self.Receive<gen::Asked<int>>();
    self.Sleep(std::chrono::milliseconds(5));
    (void)self.Reply(*asked, asked->value * asked->value);
  }).value();
  return node.Call<int>(square, 12).value();
}
CODE
cat >bare.cc <<'CODE'
#include <cstdio>

#include <dlfcn.h>

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    void* plugin = dlopen(arguments[i], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    std::printf("%d\n", reinterpret_cast<int (*)()>(dlsym(plugin, "Run"))());
  }
}
CODE
# One compilation for both kinds: they have the same headers.
compile=$(flags "$static_prefix" --cflags)
for name in plugin alone host bare; do
  # Programs and plugins mostly hide what they do not mean to show.
  # shellcheck disable=SC2086  # a list of flags
  quietly "$compiler" -std=c++20 -fPIC -fvisibility=hidden $compile -c "$name.cc" -o "$name.o"
done
declare -A link=(
  [static]="$(flags "$static_prefix" --libs --static)"
  [shared]="$(flags "$shared_prefix" --libs) -Wl,-rpath,$(flags "$shared_prefix" --variable=libdir)"
)
# shellcheck disable=SC2086  # lists of flags
{
  for kind in static shared; do
    quietly "$compiler" host.o ${link[$kind]} -o "host_$kind"
    for name in plugin alone; do
      quietly "$compiler" -shared "$name.o" ${link[$kind]} -o "${name}_$kind.so"
    done
  done
  quietly "$compiler" -rdynamic host.o ${link[static]} -o host_exporting
  quietly "$compiler" bare.o -o bare
}

# prints TEXT COMMAND...: the command succeeds and prints that.
prints() {
  local text=$1 printed
  shift
  printed=$(timeout 60 "$@" 2>"$work/log") || fail "$* ends with $?: $(cat "$work/log")"
  [[ $printed == "$text" ]] || fail "$* prints '$printed', not '$text'"
}
# refused FILE FILE COMMAND...: the command ends with the sentence that names these two.
refused() {
  local one=$1 other=$2 printed
  shift 2
  if printed=$( (timeout 60 "$@") 2>&1 >/dev/null); then
    fail "$* does not fail"
  elif [[ $(grep -c '^ergon: ' <<<"$printed") != 1 ]] ||
    ! grep -qE "^ergon: its runtime is in this process twice, in [^ ]*$one and in [^ ]*$other: build Ergon with \
-DBUILD_SHARED_LIBS=ON and link both with libergon.so$" <<<"$printed"; then
    fail "$* fails with other words: $printed"
  fi
}

prints "nana
na
process terminated: panic: no text (handling Job)
nothing to check" ./host_shared ./plugin_shared.so
prints 144 ./bare ./alone_shared.so
prints "144
144" ./bare ./alone_static.so ./alone_static.so
cp alone_static.so another_static.so
refused alone_static.so another_static.so ./bare ./alone_static.so ./another_static.so
soname="libergon.so.[0-9.]+"
refused host_static plugin_static.so ./host_static ./plugin_static.so
refused plugin_static.so host_exporting ./host_exporting ./plugin_static.so
refused host_static "$soname" ./host_static ./plugin_shared.so
refused "$soname" plugin_static.so ./host_shared ./plugin_static.so

grep -q 'libergon.so' "$source_dir/examples/guide/building.md" || fail "the guide does not say what plugins link"
exit $failed
