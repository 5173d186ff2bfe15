// Handlers that block their thread, and say so.
#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ergon/core/stepping.h>
#include <ergon/core/turns/worker.h>
#include <ergon/gen/blocking.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE("blocking: more handlers block than there are workers, and the others go on") {
  TestNode t({.workers = 2});
  kit::ThreadGate gate;
  constexpr int kBlocked = 10;
  std::vector<gen::PID> blocked;
  std::atomic<int> back{0};
  for (int i = 0; i < kBlocked; ++i) {
    blocked.push_back(t.Spawn());
    t.Begin(blocked.back(), [&back, enter = gate.Holder()](Subject&) {
      const gen::Blocking blocking;
      enter();
      back.fetch_add(1);
    });
  }
  REQUIRE(kit::Eventually([&] { return gate.Entered() == kBlocked; }));
  for (int i = 0; i < 100; ++i) CHECK(t.Run(t.Spawn(), [](Subject&) {}));
  CHECK(t.node.Info().blocking_lent == kBlocked);
  CHECK(t.node.Info().blocking_refused == 0);
  CHECK(back == 0);
  gate.Open();
  // Afterwards they are as before.
  for (const gen::PID pid : blocked) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(back == kBlocked);
}

TEST_CASE("blocking: the stretch has a thread of its own, the rest runs on workers") {
  TestNode t({.workers = 2});
  const gen::PID echo = t.Spawn();
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    for (int i = 0; i < 100; ++i) {
      const core::Dispatcher* const before = &core::Worker::Current()->dispatcher();
      {
        const gen::Blocking blocking;
        const std::thread::id thread = std::this_thread::get_id();
        CHECK(&core::Worker::Current()->dispatcher() != before);
        {
          const gen::Blocking nested;
          CHECK(std::this_thread::get_id() == thread);
        }
        // What suspends the process brings it back here.
        CHECK(self.Call<bool>(echo, Do{[](Subject&) {}}).value());
        self.Yield();
        const gen::PID child = self.Spawn(Make({})).value();
        CHECK(self.Call<bool>(child, Do{[](Subject&) {}}).value());
        CHECK(self.Send(child, End{}));
        CHECK(std::this_thread::get_id() == thread);
      }
      CHECK(&core::Worker::Current()->dispatcher() == before);
    }
  }));
  CHECK(t.node.Info().blocking_lent == 100);
}

TEST_CASE("blocking: an exception passes through it") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [](Subject&) {
    for (int i = 0; i < 100; ++i) {
      try {
        const gen::Blocking blocking;
        throw std::runtime_error(std::to_string(i));
      } catch (const std::runtime_error& error) {
        CHECK(error.what() == std::to_string(i));
        const gen::Blocking inside_a_catch;
      }
      CHECK(std::uncaught_exceptions() == 0);
    }
  }));
  const auto failed = t.Run(pid, [](Subject&) {
    const gen::Blocking blocking;
    throw std::runtime_error("no such row");
  });
  CHECK(failed.error().detail() == "panic: no such row (handling ergon::node::Do)");
  CHECK(t.Ended(pid));
}

TEST_CASE("blocking: in Init, of a child in its parent's turn and of a detached one") {
  TestNode t({.workers = 2});
  const auto blocks = Make({.init = [](Subject& self, const gen::Args&) {
    {
      const gen::Blocking blocking;
      CHECK(self.Sleep(1ms));
    }
    CHECK(self.Sleep(1ms));
    return gen::Continue();
  }});
  const auto fails = Make({.init = [](Subject&, const gen::Args&) -> gen::Status {
    const gen::Blocking blocking;
    throw std::runtime_error("no");
  }});
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    for (const bool detached : {false, true}) {
      const gen::PID child = self.Spawn(blocks, {.detached = detached}).value();
      CHECK(self.Call<bool>(child, Do{[](Subject&) {}}).value());
      CHECK(self.Spawn(fails, {.detached = detached}).error().detail() == "panic: no");
      const gen::Blocking around;
      CHECK(self.Spawn(blocks, {.detached = detached}));
    }
  }));
}

TEST_CASE("blocking: does nothing outside of turns, in detached processes and in a simulation") {
  const gen::Blocking outside;
  {
    TestNode t;
    const gen::PID detached = t.Spawn({}, {.detached = true});
    CHECK(t.Run(detached, [](Subject&) {
      const std::thread::id thread = std::this_thread::get_id();
      const gen::Blocking blocking;
      CHECK(std::this_thread::get_id() == thread);
    }));
    CHECK(t.node.Info().blocking_lent == 0);
    CHECK(t.node.Info().blocking_refused == 0);
  }
  auto clock = std::make_shared<core::ManualClock>();
  auto first = [](std::size_t) { return std::size_t{0}; };
  TestNode simulated(
      {.clock = clock,
       .dispatcher = std::make_shared<core::SteppingDispatcher>(first, clock.get())});
  CHECK(simulated.Run(simulated.Spawn(), [self = std::this_thread::get_id()](Subject&) {
    const gen::Blocking blocking;
    CHECK(std::this_thread::get_id() == self);
  }));
  CHECK(simulated.node.Info().blocking_lent == 0);
}

TEST_CASE("blocking: no thread is left: the stretch holds up its worker, and is counted") {
  TestNode t({.workers = 2, .blocking_threads = 1});
  kit::ThreadGate gate;
  auto block = [enter = gate.Holder()](Subject&) {
    const gen::Blocking blocking;
    enter();
  };
  for (int i = 0; i < 2; ++i) t.Begin(t.Spawn(), block);
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 2; }));
  CHECK(t.node.Info().blocking_lent == 1);
  CHECK(t.node.Info().blocking_refused == 1);
  // The other worker still serves everybody.
  for (int i = 0; i < 20; ++i) CHECK(t.Run(t.Spawn(), [](Subject&) {}));
  gate.Open();
  const gen::PID after = t.Spawn();
  CHECK(kit::Eventually([&] {
    return t.Run(after, [](Subject&) { const gen::Blocking blocking; }) &&
           t.node.Info().blocking_lent > 1;
  }));
}

TEST_CASE("blocking: killed meanwhile, the handler is the last one") {
  std::atomic<int> unwound{0};
  std::atomic<int> handled{0};
  TestNode t({.workers = 2});
  kit::ThreadGate gate;
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [&, enter = gate.Holder()](Subject& self) {
    const Unwound mark(unwound);
    {
      const gen::Blocking blocking;
      enter();
    }
    CHECK(!self.Sleep(1h));
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  t.Begin(pid, [&](Subject&) { handled.fetch_add(1); });
  CHECK(t.node.Kill(pid));
  CHECK(t.IsAlive(pid));
  gate.Open();
  CHECK(t.Ended(pid));
  CHECK(unwound == 1);
  CHECK(handled == 0);
}

TEST_CASE("blocking: a node that stops waits for it, warns, and ends") {
  kit::ThreadGate gate;
  kit::LogCapture log;
  std::atomic<bool> finished{false};
  std::thread opener;
  {
    TestNode t({.workers = 2, .shutdown_timeout = 1ms});
    log = t.log;
    t.Begin(t.Spawn(), [&, enter = gate.Holder()](Subject&) {
      const gen::Blocking blocking;
      enter();
      finished = true;
    });
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    opener = std::thread([&] {
      CHECK(kit::Eventually([&] { return log.Contains("is still in a handler"); }));
      gate.Open();
    });
  }
  CHECK(finished);
  opener.join();
}

TEST_CASE("blocking: very many short stretches of many processes") {
  std::atomic<int> handled{0};
  {
    TestNode t({.workers = 2, .blocking_threads = 4});
    const int messages = kit::Scaled(500);
    std::vector<gen::PID> pids;
    for (int i = 0; i < 20; ++i) {
      pids.push_back(t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message&) {
        const gen::Blocking blocking;
        self.Yield();
        handled.fetch_add(1);
        return gen::Continue();
      }}));
    }
    for (int i = 0; i < messages; ++i) {
      for (const gen::PID pid : pids) CHECK(t.node.Send(pid, i));
    }
    CHECK(kit::Eventually([&] { return handled == 20 * messages; }));
    const auto info = t.node.Info();
    CHECK(info.blocking_lent + info.blocking_refused == static_cast<std::uint64_t>(handled));
  }
}

}  // namespace
}  // namespace ergon::node
