// Waiting for the end of a process, from threads.
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE("wait: many threads wait for one process") {
  TestNode t;
  for (int round = 0; round < kit::Scaled(500); ++round) {
    const gen::PID pid = t.Spawn();
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        if (t.node.WaitProcess(pid, kit::kDeadline)) good.fetch_add(1);
      });
    }
    CHECK(t.node.Send(pid, End{}));
    for (auto& thread : threads) thread.join();
    CHECK(good == 3);
  }
}

TEST_CASE("wait: who waits for the end finds what was left behind counted, also who asks late") {
  constexpr int kLeft = 2000;
  TestNode t;
  std::uint64_t left = 0;
  for (int round = 0; round < kit::Scaled(60, 12); ++round) {
    const bool terminate_waits = round % 2 != 0;
    CAPTURE(terminate_waits);
    kit::ThreadGate gate;
    const gen::PID pid =
        t.Spawn({.terminate = [terminate_waits](Subject& self, const gen::Reason&) {
          if (terminate_waits) CHECK(self.Sleep(1us));
        }});
    t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    for (int i = 0; i < kLeft; ++i) CHECK(t.node.Send(pid, i));
    left += kLeft;
    REQUIRE(t.node.SendExit(pid, gen::Reason::Shutdown()));
    gate.Open();
    if (round % 3 != 0) CHECK(kit::Eventually([&] { return !t.IsAlive(pid); }));
    REQUIRE(t.Ended(pid));
    const auto balance = t.node.MessageBalance();
    CHECK(balance.dropped_terminated == left);
    CHECK(balance.Unaccounted() == 0);
  }
}

TEST_CASE("wait: who has ended is not waited for while the next process of the slot is ending") {
  TestNode t;
  kit::ThreadGate gate;
  const gen::PID ended = t.Spawn();
  CHECK(t.node.Kill(ended));
  REQUIRE(t.Ended(ended));
  // The destructor of a behavior that has this takes as long as the gate is closed.
  std::atomic<bool> holds{false};
  const auto leaves = [&holds, enter = gate.Holder()](void*) {
    if (holds) enter();
  };
  gen::PID next;
  do {  // until it gets the same slot
    if (next) {
      CHECK(t.node.Kill(next));
      REQUIRE(t.Ended(next));
    }
    next = t.Spawn({.message = [held = std::shared_ptr<void>(nullptr, leaves)](
                                   Subject&, gen::PID, gen::Message&) { return gen::Continue(); }});
  } while (static_cast<std::uint32_t>(next.id) != static_cast<std::uint32_t>(ended.id));
  holds = true;
  CHECK(t.node.Kill(next));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.WaitProcess(ended, 0ns));
  CHECK(t.node.WaitProcess(next, 0ns).error() == gen::ErrTimeout);
  gate.Open();
  REQUIRE(t.Ended(next));
}

}  // namespace
}  // namespace ergon::node
