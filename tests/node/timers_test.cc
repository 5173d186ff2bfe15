#include <atomic>
#include <thread>

#include <kit/manual_time.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE("timers: SendAfter keeps the order of the deadlines") {
  const kit::ManualTime time;
  Notes<int> notes;
  TestNode t(time.Into());
  const gen::PID pid = t.Spawn(Collect(notes));
  for (const int delay : {30, 10, 20, 0, 40}) {
    CHECK(t.node.SendAfter(pid, delay, std::chrono::milliseconds(delay)));
  }
  time.Pass(40ms);
  CHECK(kit::Eventually([&] { return notes.size() == 5; }));
  CHECK(notes.All() == std::vector<int>{0, 10, 20, 30, 40});
  CHECK(t.node.SendAfter(pid, 1, -1ns).error() == gen::ErrIncorrect);
  auto refused = std::make_unique<int>(7);
  CHECK(t.node.SendAfter(pid, std::move(refused), -1ns).error() == gen::ErrIncorrect);
  REQUIRE(refused != nullptr);
  CHECK(*refused == 7);
}

TEST_CASE("timers: never early; by pid, name and alias; from a process") {
  Notes<int> notes;
  std::atomic<int> early{0};
  TestNode t;
  const gen::PID pid =
      t.node
          .SpawnRegister("timed",
                         Make({.message =
                                   [&](Subject& self, gen::PID from, gen::Message& message) {
                                     CHECK(from == self.Self());
                                     if (self.Now() < message.Take<std::int64_t>())
                                       early.fetch_add(1);
                                     notes.Add(1);
                                     return gen::Continue();
                                   }}))
          .value();
  CHECK(t.Run(pid, [&](Subject& self) {
    const gen::Alias alias = self.CreateAlias().value();
    for (int i = 0; i < 100; ++i) {
      const auto delay = std::chrono::microseconds(37 * i);
      const std::int64_t due = self.Now() + std::chrono::nanoseconds(delay).count();
      const std::vector<gen::Target> targets = {self.Self(), "timed", alias};
      CHECK(self.SendAfter(targets[static_cast<std::size_t>(i) % 3], due, delay));
    }
  }));
  CHECK(kit::Eventually([&] { return notes.size() == 100; }));
  CHECK(early == 0);
  CHECK(t.node.Info().timers == 0);
}

TEST_CASE("timers: cancelled in time, too late, twice") {
  Notes<int> notes;
  TestNode t;
  const gen::PID pid = t.Spawn(Collect(notes));
  auto handle = t.node.SendAfter(pid, 1, kit::kDeadline * 10).value();
  CHECK(t.node.Info().timers == 1);
  const gen::TimerHandle copy = handle;
  CHECK(handle.Cancel());
  CHECK(!handle.Cancel());
  CHECK(!copy.Cancel());
  CHECK(t.node.Info().timers == 0);
  handle = t.node.SendAfter(pid, 2, 0ns).value();
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(!handle.Cancel());
  CHECK(!gen::TimerHandle().Cancel());
  CHECK(notes.All() == std::vector<int>{2});
}

TEST_CASE("timers: of a cancellation and the time exactly one wins") {
  std::atomic<int> total{0};
  int kept = 0;
  int wrong = 0;
  TestNode t;
  const int rounds = kit::Scaled(20'000);
  std::vector<std::atomic<int>> arrived(static_cast<std::size_t>(rounds));
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    arrived[static_cast<std::size_t>(message.Take<int>())].fetch_add(1);
    total.fetch_add(1);
    return gen::Continue();
  }});
  std::vector<int> cancelled(static_cast<std::size_t>(rounds));
  for (int i = 0; i < rounds; ++i) {
    auto handle = t.node.SendAfter(pid, i, std::chrono::microseconds(i % 90)).value();
    if (i % 2 == 0) std::this_thread::yield();
    std::atomic<int> won{0};
    if (i % 16 == 0) {
      std::thread other([&] { won.fetch_add(handle.Cancel() ? 1 : 0); });
      won.fetch_add(handle.Cancel() ? 1 : 0);
      other.join();
    } else {
      won.fetch_add(handle.Cancel() ? 1 : 0);
    }
    cancelled[static_cast<std::size_t>(i)] = won;
    kept += 1 - won;
  }
  CHECK(kit::Eventually([&] { return total == kept; }));
  CHECK(t.Run(pid, [](Subject&) {}));
  for (std::size_t i = 0; i < arrived.size(); ++i) wrong += arrived[i] + cancelled[i] != 1 ? 1 : 0;
  CHECK(wrong == 0);
  CHECK(kit::Eventually([&] { return t.node.Info().timers == 0; }));
}

TEST_CASE("timers: many at once, from many threads") {
  std::atomic<int> total{0};
  std::vector<std::thread> threads;
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
    total.fetch_add(1);
    return gen::Continue();
  }});
  const int each = kit::Scaled(25'000, 10);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < each; ++k) {
        CHECK(t.node.SendAfter(pid, k, std::chrono::microseconds(k * 7 % 20'000)));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(kit::Eventually([&] { return total == 4 * each; }));
}

TEST_CASE("timers: to a process that is gone by then") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  const gen::PID pid = t.Spawn();
  CHECK(t.node.SendAfter(pid, 1, 1ms));
  CHECK(t.node.SendAfter("nobody", 1, 1ms));
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
  time.Pass(1ms);
  CHECK(t.node.Info().dropped_terminated == 2);
}

TEST_CASE("timers: what a process sends to itself for later is cancelled when it ends") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  const gen::PID pid = t.Spawn();
  const gen::PID other = t.Spawn();
  auto token = std::make_shared<int>(1);
  std::vector<gen::TimerHandle> handles;
  REQUIRE(t.Run(pid, [&](Subject& self) {
    for (int i = 0; i < 3; ++i) {
      handles.push_back(self.SendAfter(self.Self(), std::shared_ptr<int>(token), 1h).value());
    }
    handles.push_back(self.SendAfter(other, 1, 1h).value());  // somebody waits for that one
    CHECK(handles[1].Cancel());
  }));
  CHECK(t.node.Info().timers == 3);
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
  CHECK(t.node.Info().timers == 1);
  CHECK(token.use_count() == 1);
  for (int i = 0; i < 3; ++i) CHECK(!handles[i].Cancel());
  CHECK(handles[3].Cancel());
  time.Pass(1h);
  CHECK(t.node.Info().dropped_terminated == 0);
}

TEST_CASE("timers: own ones fire, are cancelled, and end with their process, all at once") {
  TestNode t;
  auto token = std::make_shared<int>(1);
  for (int round = 0; round < kit::Scaled(2'000); ++round) {
    const gen::PID pid = t.Spawn();
    std::vector<gen::TimerHandle> handles;
    REQUIRE(t.Run(pid, [&](Subject& self) {
      for (int i = 0; i < 4; ++i) {
        const auto delay = std::chrono::microseconds(30 * i);
        handles.push_back(self.SendAfter(self.Self(), std::shared_ptr<int>(token), delay).value());
      }
    }));
    std::thread canceller([&] {
      for (const auto& handle : handles) (void)handle.Cancel();
    });
    CHECK(t.node.Kill(pid));
    CHECK(t.Ended(pid));
    canceller.join();
  }
  CHECK(kit::Eventually([&] { return t.node.Info().timers == 0 && token.use_count() == 1; }));
}

TEST_CASE("timers: pending at Stop, and handles that outlive the node") {
  std::vector<gen::TimerHandle> handles;
  {
    TestNode t;
    const gen::PID pid = t.Spawn();
    for (int i = 0; i < 100; ++i) {
      handles.push_back(t.node.SendAfter(pid, i, kit::kDeadline * 10).value());
    }
    CHECK(handles[0].Cancel());
    t.node.Stop();
    CHECK(t.node.SendAfter(pid, 1, 1s).error() == gen::ErrNodeTerminated);
    CHECK(t.node.Info().timers == 0);
    CHECK(t.node.Info().dropped_terminated == 99);
    CHECK(!handles[1].Cancel());
  }
  for (const auto& handle : handles) CHECK(!handle.Cancel());
}

TEST_CASE("timers: armed by other threads while the node stops") {
  for (int round = 0; round < kit::Scaled(200); ++round) {
    std::vector<gen::TimerHandle> handles;
    {
      TestNode t;
      const gen::PID pid = t.Spawn();
      std::atomic<bool> go{false};
      std::thread armer([&] {
        go = true;
        for (;;) {
          auto handle = t.node.SendAfter(pid, 1, 1h);
          if (!handle) break;
          handles.push_back(*handle);
          if (handles.size() % 64 == 0) std::this_thread::sleep_for(100us);  // not too many
        }
      });
      while (!go) std::this_thread::yield();
      t.node.Stop();
      armer.join();
      CHECK(t.node.Info().timers == 0);
    }
    int cancelled = 0;
    for (const auto& handle : handles) cancelled += handle.Cancel() ? 1 : 0;
    CHECK(cancelled == 0);
  }
}

}  // namespace
}  // namespace ergon::node
