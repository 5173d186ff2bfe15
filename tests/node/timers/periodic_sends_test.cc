#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include <ergon/act/pool.h>
#include <ergon/gen/log_limit.h>

#include <kit/manual_time.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Tick {
  int number = 0;
};

Handlers Count(std::atomic<int>& ticks) {
  return {.message = [&ticks](Subject&, gen::PID, gen::Message& message) {
    if (message.Is<Tick>()) ticks.fetch_add(1);
    return gen::Continue();
  }};
}

TEST_CASE("periodic sends: copies come again and again, until they are cancelled") {
  const kit::ManualTime time;
  std::atomic<int> ticks{0};
  TestNode t(time.Into());
  const gen::PID pid = t.Spawn(Count(ticks));
  CHECK(t.node.SendEvery(pid, Tick{}, 0ns).error().detail() == "period: 0, must be more than 0");
  CHECK(t.node.SendEvery(pid, Tick{}, -1ns).error() == gen::ErrIncorrect);
  const gen::TimerHandle handle = t.node.SendEvery(pid, Tick{}, 1ms).value();
  CHECK(time.PassUntil([&] { return ticks >= 5; }, 1ms));
  CHECK(t.node.Info().timers == 1);
  CHECK(handle.Cancel());
  CHECK(!handle.Cancel());
  CHECK(t.node.Info().timers == 0);
  CHECK(t.Run(pid, [](Subject&) {}));
  const int so_far = ticks;
  time.Pass(5ms);
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(ticks == so_far);
}

// The third copy that is made for a send throws.
struct ThrowsOnce {
  explicit ThrowsOnce(std::shared_ptr<std::atomic<int>> copies_in) : copies(std::move(copies_in)) {}
  ThrowsOnce(ThrowsOnce&&) noexcept = default;
  ThrowsOnce& operator=(ThrowsOnce&&) noexcept = default;
  ThrowsOnce(const ThrowsOnce& other) : copies(other.copies) {
    if (copies->fetch_add(1) == 2) throw std::runtime_error("no paper");
  }
  ThrowsOnce& operator=(const ThrowsOnce&) = delete;
  std::shared_ptr<std::atomic<int>> copies;
};

TEST_CASE("periodic sends: a tick of which the copy throws is left out and logged, and no other") {
  const kit::ManualTime time;
  std::atomic<int> ticks{0};
  const auto copies = std::make_shared<std::atomic<int>>(0);
  TestNode t(time.Into());
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    if (message.Is<ThrowsOnce>()) ticks.fetch_add(1);
    return gen::Continue();
  }});
  CHECK(t.node.SendEvery(pid, ThrowsOnce(copies), 1ms));
  CHECK(time.PassUntil([&] { return ticks >= 5; }, 1ms));
  CHECK(*copies >= 6);
  CHECK(t.log.Count("a message for " + pid.ToString() +
                    ", to be sent again, could not be copied: no paper") == 1);
}

// Its copies throw, but for the one that SendEvery keeps.
struct ThrowsAlways {
  explicit ThrowsAlways(std::shared_ptr<std::atomic<int>> counter) : copies(std::move(counter)) {}
  ThrowsAlways(ThrowsAlways&&) noexcept = default;
  ThrowsAlways& operator=(ThrowsAlways&&) noexcept = default;
  ThrowsAlways(const ThrowsAlways& other) : copies(other.copies) {
    copies->fetch_add(1);
    throw std::runtime_error("no paper");
  }
  ThrowsAlways& operator=(const ThrowsAlways&) = delete;
  std::shared_ptr<std::atomic<int>> copies;
};

TEST_CASE("periodic sends: of very many ticks that cannot be copied only some are logged") {
  const kit::ManualTime time;
  const auto copies = std::make_shared<std::atomic<int>>(0);
  TestNode t(time.Into());
  CHECK(t.node.SendEvery(t.Spawn(), ThrowsAlways(copies), 1ms));
  CHECK(time.PassUntil([&] { return *copies >= 100; }, 1ms));
  CHECK(t.log.Count("could not be copied: no paper") == gen::LogLimit::kLines);
}

TEST_CASE("periodic sends: a tick that comes late does not make the next ones late") {
  const kit::ManualTime time;
  std::atomic<int> ticks{0};
  TestNode t(time.Into());
  const gen::PID pid = t.Spawn(Count(ticks));
  CHECK(t.node.SendEvery(pid, Tick{}, 10ms));
  time.Pass(19ms);  // 9 too many
  CHECK(kit::Eventually([&] { return ticks == 1; }));
  time.Pass(1ms);
  CHECK(kit::Eventually([&] { return ticks == 2; }));
}

TEST_CASE("periodic sends: a tick that waits when its timer is cancelled is skipped and counted") {
  std::atomic<int> ticks{0};
  TestNode t;
  const gen::PID pid = t.Spawn(Count(ticks));
  CHECK(t.node.Suspend(pid));
  const gen::TimerHandle handle = t.node.SendEvery(pid, Tick{}, 1ms).value();
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_queued == 1; }));
  CHECK(handle.Cancel());
  // A new one is another timer: its ticks count.
  CHECK(t.node.Send(pid, Tick{}));
  CHECK(t.node.Resume(pid));
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(ticks == 1);
  CHECK(t.node.Info().dropped_expired == 1);
  CHECK(t.node.ProcessInfo(pid)->messages_dropped == 1);
}

TEST_CASE("periodic sends: never a tick after Cancel has returned in the receiver's own handler") {
  std::atomic<int> wrong{0};
  std::atomic<int> rounds{0};
  gen::TimerHandle handle;
  bool running = false;
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
    if (!message.Is<Tick>()) return gen::Continue();
    if (!running) wrong.fetch_add(1);
    (void)self.Sleep(1ms);  // the next one may come meanwhile
    CHECK(handle.Cancel());
    running = false;
    if (rounds.fetch_add(1) < kit::Scaled(100)) {
      CHECK(self.Send(self.Self(), Do{[&](Subject& again) {
                        running = true;
                        handle = again.SendEvery(again.Self(), Tick{}, 200us).value();
                      }}));
    }
    return gen::Continue();
  }});
  CHECK(t.Run(pid, [&](Subject& self) {
    running = true;
    handle = self.SendEvery(self.Self(), Tick{}, 200us).value();
  }));
  CHECK(kit::Eventually([&] { return rounds > kit::Scaled(100); }));
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(wrong == 0);
}

TEST_CASE("periodic sends: at most one tick of a timer waits") {
  std::atomic<int> ticks{0};
  TestNode t;
  const gen::PID pid = t.Spawn(Count(ticks));
  CHECK(t.node.Suspend(pid));
  const gen::TimerHandle one = t.node.SendEvery(pid, Tick{}, 1ms).value();
  const gen::TimerHandle two = t.node.SendEvery(pid, Tick{}, 1ms).value();
  // Another receiver has got many meanwhile.
  std::atomic<int> others{0};
  const gen::PID other = t.Spawn(Count(others));
  const gen::TimerHandle third = t.node.SendEvery(other, Tick{}, 1ms).value();
  CHECK(kit::Eventually([&] { return others >= 10; }));
  CHECK(t.node.ProcessInfo(pid)->messages_queued == 2);
  CHECK(t.node.Resume(pid));
  CHECK(kit::Eventually([&] { return ticks >= 4; }));
  for (const auto* handle : {&one, &two, &third}) CHECK(handle->Cancel());
  CHECK(t.node.Kill(other));
  CHECK(t.Ended(other));
}

TEST_CASE("periodic sends: they end with their sender, and with a receiver given by its PID") {
  const kit::ManualTime time;
  std::atomic<int> ticks{0};
  TestNode t(time.Into());
  const gen::PID receiver = t.Spawn(Count(ticks));
  const gen::PID sender = t.Spawn();
  gen::TimerHandle of_sender;
  CHECK(t.Run(sender, [&](Subject& self) {
    of_sender = self.SendEvery(receiver, Tick{}, 1ms).value();
    CHECK(self.SendEvery(receiver, Tick{}, 1h));
  }));
  CHECK(time.PassUntil([&] { return ticks >= 2; }, 1ms));
  CHECK(t.node.Send(sender, End{}));
  CHECK(t.Ended(sender));
  CHECK(t.node.Info().timers == 0);
  CHECK(!of_sender.Cancel());

  const gen::TimerHandle of_node = t.node.SendEvery(receiver, Tick{}, 1ms).value();
  const gen::TimerHandle by_name = t.node.SendEvery("nobody", Tick{}, 1ms).value();
  CHECK(t.node.Kill(receiver));
  CHECK(t.Ended(receiver));
  time.Pass(1ms);
  CHECK(t.node.Info().timers == 1);
  CHECK(!of_node.Cancel());
  // Somebody may take the name one day.
  const std::uint64_t lost = t.node.Info().dropped_terminated;
  time.Pass(1ms);
  CHECK(t.node.Info().dropped_terminated == lost + 1);
  const gen::PID late = t.Spawn(Count(ticks));
  const int before = ticks;
  CHECK(t.node.RegisterName("nobody", late));
  time.Pass(1ms);
  CHECK(kit::Eventually([&] { return ticks == before + 1; }));
  CHECK(by_name.Cancel());
}

TEST_CASE("periodic sends: a full mailbox drops ticks, and gets more when it has room") {
  std::atomic<int> ticks{0};
  TestNode t;
  const gen::PID pid = t.Spawn(Count(ticks), {.mailbox_size = 1});
  CHECK(t.node.Suspend(pid));
  CHECK(t.node.Send(pid, 0));
  const gen::TimerHandle handle = t.node.SendEvery(pid, Tick{}, 1ms).value();
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_mailbox_full >= 2; }));
  CHECK(t.node.Resume(pid));
  CHECK(kit::Eventually([&] { return ticks >= 2; }));
  CHECK(handle.Cancel());
}

TEST_CASE("periodic sends: a stashed tick, and one at a fallback process, know of the end") {
  std::atomic<int> stashed{0};
  std::atomic<int> handled{0};
  Notes<std::string> fallbacks;
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
    if (stashed.fetch_add(1) == 0) {
      CHECK(self.Stash(message));
    } else {
      handled.fetch_add(1);
    }
    return gen::Continue();
  }});
  gen::TimerHandle handle = t.node.SendEvery(pid, Tick{}, 1ms).value();
  CHECK(kit::Eventually([&] { return handled >= 2; }));
  CHECK(handle.Cancel());
  CHECK(t.Run(pid, [](Subject& self) { CHECK(self.UnstashAll() == 1); }));
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(t.node.Info().dropped_expired >= 1);

  const gen::PID fallback = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    fallbacks.Add(message.TypeName());
    return gen::Continue();
  }});
  CHECK(t.node.RegisterName("fallback", fallback));
  const gen::PID full = t.Spawn({}, {.mailbox_size = 1, .fallback = {.name = "fallback"}});
  CHECK(t.node.Suspend(full));
  CHECK(t.node.Send(full, Do{[](Subject&) {}}));
  CHECK(t.node.Suspend(fallback));
  handle = t.node.SendEvery(full, Tick{}, 1ms).value();
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(fallback)->messages_queued == 1; }));
  CHECK(handle.Cancel());
  CHECK(t.node.Resume(fallback));
  CHECK(t.node.Resume(full));
  CHECK(t.Run(fallback, [](Subject&) {}));
  CHECK(fallbacks.size() == 0);
}

TEST_CASE("periodic sends: of a cancellation by another thread and the ticks nothing is left") {
  std::atomic<int> ticks{0};
  TestNode t;
  const gen::PID pid = t.Spawn(Count(ticks));
  for (int i = 0; i < kit::Scaled(2'000); ++i) {
    const gen::TimerHandle handle =
        t.node.SendEvery(pid, Tick{i}, std::chrono::microseconds(50 + i % 100)).value();
    if (i % 4 == 0) {
      const int before = ticks;
      CHECK(kit::Eventually([&] { return ticks != before; }));
    }
    std::atomic<int> won{0};
    std::thread other([&] { won.fetch_add(handle.Cancel() ? 1 : 0); });
    won.fetch_add(handle.Cancel() ? 1 : 0);
    other.join();
    CHECK(won == 1);
    if (i % 64 == 0) {
      CHECK(t.Run(pid, [](Subject&) {}));
      const int so_far = ticks;
      std::this_thread::sleep_for(1ms);
      CHECK(ticks == so_far);
    }
  }
  CHECK(t.node.Info().timers == 0);
}

TEST_CASE("periodic sends: pending at Stop, and handles that outlive the node") {
  gen::TimerHandle handle;
  {
    TestNode t;
    const gen::PID pid = t.Spawn();
    handle = t.node.SendEvery(pid, Tick{}, 1h).value();
    CHECK(t.node.SendEvery("name", Tick{}, 100us));
    t.node.Stop();
    CHECK(t.node.Info().timers == 0);
    CHECK(t.node.SendEvery(pid, Tick{}, 1s).error() == gen::ErrNodeTerminated);
  }
  CHECK(!handle.Cancel());
}

}  // namespace
}  // namespace ergon::node
