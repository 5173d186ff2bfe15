// What the runtime promises about fairness.
#include <atomic>
#include <thread>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Spin {};

// Sends itself the next message for ever.
Handlers Endless(std::atomic<std::uint64_t>& count) {
  return {.message = [&count](Subject& self, gen::PID, gen::Message&) {
    count.fetch_add(1, std::memory_order_relaxed);
    (void)self.Send(self.Self(), Spin{});
    return gen::Continue();
  }};
}

TEST_CASE("scheduling T03: never-ending processes do not starve others") {
  for (const auto policy :
       {gen::DispatcherPolicy::kWorkStealing, gen::DispatcherPolicy::kWorkSharing}) {
    TestNode t({.workers = 2, .policy = policy});
    std::atomic<std::uint64_t> count{0};
    std::vector<gen::PID> endless;
    for (int i = 0; i < 8; ++i) {
      endless.push_back(t.Spawn(Endless(count)));
      CHECK(t.node.Send(endless.back(), Spin{}));
    }
    for (int i = 0; i < 50; ++i)
      CHECK(t.Run(t.Spawn(), [](Subject& self) { (void)self.Sleep(1us); }));
    // Also those that a process makes ready.
    const gen::PID parent = t.Spawn();
    CHECK(t.Run(parent, [](Subject& self) {
      for (int i = 0; i < 20; ++i) {
        const gen::PID child = self.Spawn(Make({})).value();
        CHECK(self.Call<bool>(child, Do{[](Subject&) {}}, {.timeout = kit::kDeadline}).value());
      }
    }));
    // And the endless ones can be ended.
    for (const gen::PID pid : endless) CHECK(t.node.Kill(pid));
    for (const gen::PID pid : endless) CHECK(t.Ended(pid));
  }
}

TEST_CASE("scheduling T03: two that keep each other busy do not starve others") {
  std::vector<gen::PID> pids;
  TestNode t({.workers = 2});
  for (int pair = 0; pair < 4; ++pair) {
    auto bounce = Handlers{.message = [](Subject& self, gen::PID from, gen::Message&) {
      (void)self.Send(from, Spin{});
      return gen::Continue();
    }};
    const gen::PID one = t.Spawn(bounce);
    const gen::PID two = t.Spawn(bounce);
    t.Begin(one, [two](Subject& self) { (void)self.Send(two, Spin{}); });
    pids.push_back(one);
    pids.push_back(two);
  }
  for (int i = 0; i < 50; ++i) CHECK(t.Run(t.Spawn(), [](Subject&) {}));
  for (const gen::PID pid : pids) CHECK(t.node.Kill(pid));
}

TEST_CASE("scheduling T04: what a blocked worker had made ready is run by others") {
  std::atomic<int> handled{0};
  std::vector<gen::PID> pids;
  TestNode t({.workers = 2});
  for (int i = 0; i < 300; ++i) {
    pids.push_back(t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
      handled.fetch_add(1);
      return gen::Continue();
    }}));
  }
  for (int round = 1; round <= 20; ++round) {
    kit::ThreadGate gate;
    const gen::PID blocker = t.Spawn();
    t.Begin(blocker, [&, enter = gate.Holder()](Subject& self) {
      for (const gen::PID pid : pids) CHECK(self.Send(pid, 1));
      enter();
    });
    CHECK(kit::Eventually([&] { return handled == round * 300; }));
    CHECK(gate.Entered() == 1);
    gate.Open();
  }
}

TEST_CASE("scheduling: a flood from one sender does not delay others for ever") {
  std::atomic<bool> done{false};
  std::atomic<int> handled{0};
  TestNode t({.workers = 2});
  const gen::PID sink = t.Spawn({.message =
                                     [&](Subject&, gen::PID, gen::Message&) {
                                       handled.fetch_add(1, std::memory_order_relaxed);
                                       return gen::Continue();
                                     }},
                                {.mailbox_size = 10'000});
  std::thread flood([&] {
    while (!done) (void)t.node.Send(sink, 1);
  });
  for (int i = 0; i < 20; ++i) {
    CHECK(t.Run(t.Spawn(), [](Subject&) {}));
    CHECK(t.node
              .Call<bool>(sink, Do{[](Subject&) {}},
                          {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kMax})
              .value());
  }
  done = true;
  flood.join();
}

}  // namespace
}  // namespace ergon::node
