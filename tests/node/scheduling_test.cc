// What the runtime promises about fairness.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include <ergon/core/stepping.h>

#include <kit/gate.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Again {};

// Sends itself the next message for ever.
Handlers Endless(std::atomic<std::uint64_t>& count) {
  return {.message = [&count](Subject& self, gen::PID, gen::Message&) {
    count.fetch_add(1, std::memory_order_relaxed);
    (void)self.Send(self.Self(), Again{});
    return gen::Continue();
  }};
}

TEST_CASE("scheduling: never-ending processes do not starve others") {
  for (const auto policy :
       {gen::DispatcherPolicy::kWorkStealing, gen::DispatcherPolicy::kWorkSharing}) {
    TestNode t({.workers = 2, .policy = policy});
    std::atomic<std::uint64_t> count{0};
    std::vector<gen::PID> endless;
    for (int i = 0; i < 8; ++i) {
      endless.push_back(t.Spawn(Endless(count)));
      CHECK(t.node.Send(endless.back(), Again{}));
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

TEST_CASE("scheduling: two that keep each other busy do not starve others") {
  std::vector<gen::PID> pids;
  TestNode t({.workers = 2});
  for (int pair = 0; pair < 4; ++pair) {
    auto bounce = Handlers{.message = [](Subject& self, gen::PID from, gen::Message&) {
      (void)self.Send(from, Again{});
      return gen::Continue();
    }};
    const gen::PID one = t.Spawn(bounce);
    const gen::PID two = t.Spawn(bounce);
    t.Begin(one, [two](Subject& self) { (void)self.Send(two, Again{}); });
    pids.push_back(one);
    pids.push_back(two);
  }
  for (int i = 0; i < 50; ++i) CHECK(t.Run(t.Spawn(), [](Subject&) {}));
  for (const gen::PID pid : pids) CHECK(t.node.Kill(pid));
}

TEST_CASE("scheduling: what a blocked worker had made ready is run by others") {
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
    CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
    gate.Open();
  }
}

TEST_CASE("scheduling: a flood from one sender does not delay others for ever") {
  std::atomic<int> handled{0};
  TestNode t({.workers = 2});
  const gen::PID sink = t.Spawn({.message =
                                     [&](Subject&, gen::PID, gen::Message&) {
                                       handled.fetch_add(1, std::memory_order_relaxed);
                                       return gen::Continue();
                                     }},
                                {.mailbox_size = 10'000});
  kit::Threads flood;
  flood.Start([&] {
    while (!flood.stopped()) (void)t.node.Send(sink, 1);
  });
  for (int i = 0; i < 20; ++i) {
    CHECK(t.Run(t.Spawn(), [](Subject&) {}));
    CHECK(t.node
              .Call<bool>(sink, Do{[](Subject&) {}},
                          {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kMax})
              .value());
  }
}

// Handlers that take `each`, one after the other, for ever.
Handlers Slow(std::atomic<int>& begun, std::chrono::nanoseconds each) {
  return {.message = [&begun, each](Subject& self, gen::PID, gen::Message&) {
    begun.fetch_add(1);
    const auto end = std::chrono::steady_clock::now() + each;
    (void)self.Send(self.Self(), Again{});
    while (std::chrono::steady_clock::now() < end) {
    }
    return gen::Continue();
  }};
}

// Pings an idle process `pings` times, while handlers that take `each` run on all threads.
void CheckWaitOfIdle(gen::DispatcherPolicy policy, std::chrono::nanoseconds each, int pings) {
  CAPTURE(each.count());
  std::atomic<int> begun{0};
  std::atomic<int> begun_before_ping{0};
  TestNode t({.workers = 2, .policy = policy});
  const gen::PID idle = t.Spawn();
  std::vector<gen::PID> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(t.Spawn(Slow(begun, each)));
    for (int message = 0; message < 64; ++message) CHECK(t.node.Send(slow.back(), Again{}));
  }
  // Both are known to be slow by then.
  CHECK(kit::Eventually([&] { return begun >= 20; }));
  std::vector<int> waited;  // handlers that went before the ping's
  for (int ping = 0; ping < pings; ++ping) {
    const int before = begun;
    CHECK(t.Run(idle, [&](Subject&) { begun_before_ping = begun.load(); }));
    waited.push_back(begun_before_ping - before);
  }
  // The median, for this thread may lose its processor between its look and its ping.
  std::sort(waited.begin(), waited.end());
  CAPTURE(waited.front());
  CAPTURE(waited.back());
  CHECK(waited[waited.size() / 2] <= 4);
  for (const gen::PID pid : slow) CHECK(t.node.Kill(pid));
  for (const gen::PID pid : slow) CHECK(t.Ended(pid));
}

TEST_CASE("scheduling: an idle process waits for a handler or two of each worker, not for turns") {
  for (const auto policy :
       {gen::DispatcherPolicy::kWorkStealing, gen::DispatcherPolicy::kWorkSharing}) {
    CheckWaitOfIdle(policy, 2ms, 21);
    CheckWaitOfIdle(policy, 20ms, 9);
  }
}

// One thread runs everything, always what became ready first.
gen::NodeOptions Stepping() {
  auto clock = std::make_shared<core::ManualClock>();
  auto first = [](std::size_t) { return std::size_t{0}; };
  return {.clock = clock,
          .dispatcher = std::make_shared<core::SteppingDispatcher>(first, clock.get())};
}

TEST_CASE("scheduling: a turn handles as many messages as the dispatcher says when it begins") {
  auto clock = std::make_shared<core::ManualClock>();
  auto dispatcher = std::make_shared<core::SteppingDispatcher>(
      [](std::size_t) { return std::size_t{0}; }, clock.get());
  int handled = 0;
  TestNode t({.clock = clock, .dispatcher = dispatcher});
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
    ++handled;
    return gen::Continue();
  }});
  for (const int throughput : {8, 1, 2, 3, 4, 5, 6, 7, 32}) {
    CAPTURE(throughput);
    dispatcher->SetThroughput(throughput);
    for (int i = 0; i < 40; ++i) CHECK(t.node.Send(pid, i));
    handled = 0;
    CHECK(dispatcher->RunOne());
    CHECK(handled == throughput);
    (void)dispatcher->RunUntilIdle(100);
    CHECK(handled == 40);
  }
}

TEST_CASE("scheduling: Yield lets the others go first, also in Init") {
  bool handled = false;
  TestNode t(Stepping());
  const gen::PID other = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
    handled = true;
    return gen::Continue();
  }});
  const auto yields_until_handled = [&, other](Subject& self) {
    handled = false;
    CHECK(self.Send(other, 1));
    int yields = 0;
    while (!handled && yields < 1000) {
      self.Yield();
      ++yields;
    }
    return yields;
  };
  int in_handler = 0;
  CHECK(t.Run(t.Spawn(), [&](Subject& self) { in_handler = yields_until_handled(self); }));
  CHECK(in_handler == 1);
  int in_init = 0;
  t.Spawn({.init = [&](Subject& self, const gen::Args&) {
    in_init = yields_until_handled(self);
    return gen::Continue();
  }});
  CHECK(in_init == 1);
}

TEST_CASE("scheduling: an exception, a kill and a message to itself across Yield") {
  TestNode t({.workers = 2});
  const gen::PID thrower = t.Spawn();
  const auto failed = t.Run(thrower, [](Subject& self) {
    try {
      throw 1;
    } catch (int) {
      self.Yield();  // the exception being handled survives the switch
      self.Send(self.Self(), End{}).value();
      self.Yield();
    }
    throw std::runtime_error("later");
  });
  CHECK(failed.error() == gen::ErrProcessTerminated);
  CHECK(t.Ended(thrower));

  std::atomic<bool> begun{false};
  std::atomic<bool> killed{false};
  const gen::PID victim = t.Spawn();
  t.Begin(victim, [&](Subject& self) {
    begun = true;
    while (!killed) self.Yield();
  });
  CHECK(kit::Eventually([&] { return begun.load(); }));
  CHECK(t.node.Kill(victim));
  killed = true;
  CHECK(t.Ended(victim));
}

TEST_CASE("scheduling: yield_on_send lets receivers keep up") {
  constexpr int kMessages = 10'000;
  for (const bool yields : {false, true}) {
    int handled = 0;
    int most_behind = 0;
    TestNode t(Stepping());
    const gen::PID sink = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
      CHECK(*message.As<int>() == handled++);
      return gen::Continue();
    }});
    const gen::PID source = t.Spawn({}, {.yield_on_send = yields});
    CHECK(t.Run(source, [&, sink](Subject& self) {
      for (int i = 0; i < kMessages; ++i) {
        CHECK(self.Send(sink, i));
        most_behind = std::max(most_behind, i + 1 - handled);
      }
    }));
    CHECK(t.Run(sink, [](Subject&) {}));
    CHECK(handled == kMessages);
    CAPTURE(most_behind);
    CHECK((most_behind == kMessages) == !yields);
  }
}

}  // namespace
}  // namespace ergon::node
