// A node with nothing to do does nothing.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

// The context switches, of both kinds, of all threads but this one.
std::uint64_t ContextSwitches() {
  std::uint64_t sum = 0;
  const std::string self = std::to_string(gettid());
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.path().filename() == self) continue;
    std::ifstream status(entry.path() / "status");
    std::string key;
    while (status >> key) {
      std::uint64_t value = 0;
      if (key.find("ctxt_switches:") != std::string::npos && status >> value) sum += value;
    }
  }
  return sum;
}

// Sanitizers have threads of their own that wake up.
TEST_CASE("idle: after a second no wake-ups and no context switches" *
          doctest::skip(kit::kSanitized)) {
  TestNode t;
  const gen::PID echo = t.Spawn();
  for (int i = 0; i < 1'000; ++i) t.Spawn();
  t.Spawn({}, {.detached = true});
  // All parts have been in use: calls, timers that fire and timers that do not.
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    for (int i = 0; i < 100; ++i) {
      CHECK(self.Call<bool>(echo, Do{[](Subject&) {}}).value());
    }
    CHECK(self.Sleep(1ms));
    CHECK(self.SendAfter(self.Self(), 1, 1h));
  }));
  CHECK(kit::Eventually([&] {
    const auto before = t.node.Info();
    const std::uint64_t switches = ContextSwitches();
    std::this_thread::sleep_for(1s);  // what is to be observed is the time itself
    const auto after = t.node.Info();
    return ContextSwitches() == switches && after.wakeups == before.wakeups &&
           after.turns == before.turns;
  }));
}

}  // namespace
}  // namespace ergon::node
