#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_queue.h>

#include <kit/eventually.h>

namespace ergon::core::timer_queue_test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr std::chrono::seconds kTestDeadline{60};

// What ends a driver's sleep; a call sticks until the next `Wait`.
class Signal {
 public:
  void Set() {
    {
      std::lock_guard guard(mutex_);
      set_ = true;
      ++count_;
    }
    condition_.notify_one();
  }

  // False: nothing came before the test's deadline.
  [[nodiscard]] bool Wait() {
    std::unique_lock guard(mutex_);
    const bool came = condition_.wait_for(guard, kTestDeadline, [&] { return set_; });
    set_ = false;
    return came;
  }

  int count() {
    std::lock_guard guard(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool set_ = false;
  int count_ = 0;
};

// A thread that drives a queue whose clock stands still: what is due fires at once, for the rest it
// sleeps without a timeout, so that a lost wake-up is not repaired by time.
class Driver {
 public:
  Driver(TimerQueue& queue, const Clock& clock, int64_t slack = 1)
      : queue_(queue), clock_(clock), slack_(slack) {
    queue_.SetWake([this] { signal_.Set(); });
    thread_ = std::thread([this] { Run(); });
  }

  ~Driver() {
    stopping_.store(true);
    signal_.Set();
    thread_.join();
    CHECK_FALSE(timed_out_);
  }

  Signal& signal() { return signal_; }

 private:
  void Run() {
    while (!stopping_.load() && !timed_out_) {
      queue_.RunDue();
      if (queue_.PrepareSleep(slack_) > clock_.Now()) timed_out_ = !signal_.Wait();
    }
  }

  TimerQueue& queue_;
  const Clock& clock_;
  const int64_t slack_;
  Signal signal_;
  std::atomic<bool> stopping_{false};
  bool timed_out_ = false;  // the thread's, and after it
  std::thread thread_;
};

template <typename Condition>
[[nodiscard]] bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kTestDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

void Record(void* context, uint64_t argument) {
  static_cast<std::vector<uint64_t>*>(context)->push_back(argument);
}

void Count(void* context, uint64_t) { static_cast<std::atomic<int>*>(context)->fetch_add(1); }

TEST_CASE("timer_queue: fires at the deadline, once") {
  ManualClock clock(kSecond);
  TimerQueue queue(clock);
  std::vector<uint64_t> fired;
  Timer timer(Record, &fired, 7);
  CHECK(queue.NextDeadline() == kNever);
  queue.Arm(timer, 2 * kSecond);
  CHECK(queue.size() == 1);
  CHECK(queue.NextDeadline() == 2 * kSecond);
  clock.AdvanceTo(2 * kSecond - 1);
  CHECK(queue.RunDue() == 0);
  clock.AdvanceTo(2 * kSecond);
  CHECK(queue.RunDue() == 1);
  CHECK(queue.RunDue() == 0);
  CHECK(fired == std::vector<uint64_t>{7});
  CHECK(queue.size() == 0);
  CHECK_FALSE(queue.Disarm(timer));
}

TEST_CASE("timer_queue: a disarmed timer does not fire, and may be armed again") {
  ManualClock clock;
  TimerQueue queue(clock);
  std::vector<uint64_t> fired;
  Timer timer(Record, &fired, 1);
  CHECK_FALSE(queue.Disarm(timer));  // never armed
  queue.Arm(timer, 10);
  CHECK(queue.Disarm(timer));
  CHECK_FALSE(queue.Disarm(timer));
  clock.AdvanceTo(10);
  CHECK(queue.RunDue() == 0);
  timer.argument = 2;
  queue.Arm(timer, 5);  // already past
  CHECK(queue.RunDue() == 1);
  CHECK(fired == std::vector<uint64_t>{2});
}

TEST_CASE("timer_queue: one call fires the timers of all shards in the order of deadlines") {
  ManualClock clock;
  TimerQueue queue(clock, 8);
  std::vector<uint64_t> fired;
  std::vector<std::unique_ptr<Timer>> timers;
  std::mt19937 random(3);
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      std::lock_guard guard(mutex);
      for (int i = 0; i < 200; ++i) {
        const auto deadline = static_cast<int64_t>(random() % (5 * kSecond));
        timers.push_back(std::make_unique<Timer>(Record, &fired, static_cast<uint64_t>(deadline)));
        queue.Arm(*timers.back(), deadline);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(queue.size() == timers.size());
  clock.AdvanceTo(5 * kSecond);
  CHECK(queue.RunDue() == timers.size());
  CHECK(fired.size() == timers.size());
  CHECK(std::is_sorted(fired.begin(), fired.end()));
}

struct Periodic {
  static void Fire(void* context, uint64_t) {
    auto& self = *static_cast<Periodic*>(context);
    ++self.fired;
    self.queue.Arm(self.timer, self.next += self.period);
  }

  TimerQueue& queue;
  const int64_t period;
  int64_t next = 0;
  int fired = 0;
  Timer timer{Fire, this};
};

TEST_CASE("timer_queue: a callback arms its own timer again") {
  ManualClock clock;
  TimerQueue queue(clock);
  Periodic periodic{.queue = queue, .period = kSecond};
  periodic.next = kSecond;
  queue.Arm(periodic.timer, periodic.next);
  for (int i = 1; i <= 100; ++i) {
    REQUIRE(queue.NextDeadline() == i * kSecond);
    clock.AdvanceTo(queue.NextDeadline());
    REQUIRE(queue.RunDue() == 1);
  }
  CHECK(periodic.fired == 100);
  CHECK(queue.Disarm(periodic.timer));
}

TEST_CASE("timer_queue: what a callback arms comes at the next call, even if due") {
  ManualClock clock(10 * kSecond);
  TimerQueue queue(clock);
  Periodic periodic{.queue = queue, .period = 0};
  queue.Arm(periodic.timer, 0);
  for (int i = 1; i <= 5; ++i) {
    CHECK(queue.RunDue() == 1);
    CHECK(periodic.fired == i);
  }
  CHECK(queue.Disarm(periodic.timer));
}

struct Killer {
  static void Fire(void* context, uint64_t) {
    auto& self = *static_cast<Killer*>(context);
    self.disarmed = self.queue.Disarm(self.victim);
  }

  TimerQueue& queue;
  Timer& victim;
  bool disarmed = false;
};

TEST_CASE("timer_queue: a callback disarms another timer") {
  ManualClock clock;
  TimerQueue queue(clock);
  std::vector<uint64_t> fired;
  Timer victim(Record, &fired, 1);
  Killer killer{.queue = queue, .victim = victim};
  Timer timer(Killer::Fire, &killer);
  queue.Arm(timer, 10);
  queue.Arm(victim, 20);
  clock.AdvanceTo(15);
  CHECK(queue.RunDue() == 1);
  CHECK(killer.disarmed);
  // Due in the same call, it has been taken already.
  queue.Arm(timer, 10);
  queue.Arm(victim, 12);
  CHECK(queue.RunDue() == 2);
  CHECK_FALSE(killer.disarmed);
  CHECK(fired == std::vector<uint64_t>{1});
}

TEST_CASE("timer_queue: a crowd with one deadline fires in the order of arming") {
  ManualClock clock;
  TimerQueue queue(clock);
  constexpr uint64_t kCrowd = 20'000;
  std::vector<uint64_t> fired;
  std::vector<std::unique_ptr<Timer>> timers;
  for (uint64_t i = 0; i < kCrowd; ++i) {
    timers.push_back(std::make_unique<Timer>(Record, &fired, i));
    queue.Arm(*timers.back(), 5 * kSecond);
  }
  clock.AdvanceTo(5 * kSecond - 1);
  CHECK(queue.RunDue() == 0);
  clock.AdvanceBy(1);
  CHECK(queue.RunDue() == kCrowd);
  CHECK(std::is_sorted(fired.begin(), fired.end()));
}

TEST_CASE("timer_queue: sleeping is rounded up to the slack, and wakes for what is earlier") {
  ManualClock clock(kSecond);
  TimerQueue queue(clock);
  int wakes = 0;
  queue.SetWake([&] { ++wakes; });
  std::atomic<int> fired{0};
  Timer first(Count, &fired), second(Count, &fired), third(Count, &fired);

  queue.Arm(first, 2'000'000'123);
  CHECK(wakes == 0);  // the driver is awake
  CHECK(queue.PrepareSleep(1) == 2'000'000'123);
  CHECK(queue.PrepareSleep(1'000) == 2'000'001'000);

  queue.Arm(second, 3 * kSecond);  // later
  CHECK(wakes == 0);
  CHECK(queue.Disarm(second));
  queue.Arm(second, 2'000'000'001);  // earlier, but within the same slack
  CHECK(wakes == 0);
  CHECK(queue.Disarm(second));
  queue.Arm(second, 2'000'000'000);  // that would be late by the whole slack
  CHECK(wakes == 1);
  queue.Arm(third, 2'000'000'000);  // the wake-up is on its way
  CHECK(wakes == 1);
  CHECK(queue.Disarm(third));
  queue.Arm(third, 1'500'000'000);  // still earlier: says so again
  CHECK(wakes == 2);

  clock.AdvanceTo(queue.PrepareSleep(1'000));
  CHECK(clock.Now() == 1'500'000'000);
  CHECK(queue.RunDue() == 1);
  queue.Arm(third, 0);
  CHECK(wakes == 2);  // awake since `RunDue`
  CHECK(queue.RunDue() == 1);
  clock.AdvanceTo(queue.PrepareSleep());
  CHECK(clock.Now() < 2'000'000'000 + 2 * kTimerTick);
  CHECK(queue.RunDue() == 2);
  CHECK(queue.PrepareSleep() == kNever);
  queue.Arm(first, 3 * kSecond);
  CHECK(wakes == 3);
  CHECK(queue.Disarm(first));
}

TEST_CASE("timer_queue: timeouts that do not happen cost no wake-up") {
  ManualClock clock(kSecond);
  TimerQueue queue(clock);
  std::atomic<int> fired{0};
  Timer first(Count, &fired);
  queue.Arm(first, clock.Now() + 5 * kSecond);
  {
    Driver driver(queue, clock);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&queue, &clock, &fired] {
        for (int i = 0; i < 20'000; ++i) {
          Timer timer(Count, &fired);
          queue.Arm(timer, clock.Now() + 5 * kSecond + i % 7);
          if (!queue.Disarm(timer)) fired.fetch_add(1'000'000);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(driver.signal().count() == 0);
  }
  CHECK(fired.load() == 0);
  CHECK(queue.Disarm(first));
}

// A driver that sleeps without a timeout, and threads that wait for each of their timers to fire: a
// wake-up that is lost stops the test.
TEST_CASE("timer_queue: no wake-up is lost between looking and sleeping") {
  constexpr int kThreads = 3;
  constexpr int kTimers = 3'000;
  ManualClock clock(kSecond);
  TimerQueue queue(clock, 2);
  std::atomic<int> never{0};
  Timer far(Count, &never);
  queue.Arm(far, 3600 * kSecond);
  {
    Driver driver(queue, clock);
    std::atomic<bool> lost{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::atomic<int> fired{0};
        for (int i = 0; i < kTimers && !lost; ++i) {
          Timer timer(Count, &fired);
          // A different one each time, as only an earlier deadline passes the bar; all are due.
          queue.Arm(timer, (i * 7919 + t) % kSecond);
          if (!Eventually([&] { return fired.load() == i + 1; })) lost = true;
          if (lost) (void)queue.Disarm(timer);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_FALSE(lost);
  }
  CHECK(never.load() == 0);
  CHECK(queue.Disarm(far));
}

// Aims at the driver while it looks: it is sent round, and a moment later a timer is armed. Many
// shards make the look long, and the driver waits by spinning, so that both run at the same time.
TEST_CASE("timer_queue: what is armed while the driver looks is not overlooked") {
  constexpr int kTimers = kit::Scaled(20'000, 4);
  ManualClock clock(kSecond);
  TimerQueue queue(clock, 64);
  std::atomic<bool> woken{false};
  std::atomic<bool> stopping{false};
  queue.SetWake([&] { woken = true; });
  std::thread driver([&] {
    while (!stopping) {
      queue.RunDue();
      if (queue.PrepareSleep(1) <= clock.Now()) continue;
      while (!woken.exchange(false) && !stopping) std::this_thread::yield();
    }
  });
  std::atomic<int> fired{0};
  std::mt19937 random(5);
  bool lost = false;
  for (int i = 0; i < kTimers && !lost; ++i) {
    Timer timer(Count, &fired);
    woken = true;
    for (std::atomic<uint32_t> spin{static_cast<uint32_t>(random() % 512)}; spin > 0; --spin) {
    }
    queue.Arm(timer, 1);
    lost = !Eventually([&] { return fired.load() == i + 1; });
    if (lost) (void)queue.Disarm(timer);
  }
  stopping = true;
  driver.join();
  CHECK_FALSE(lost);
}

// The context outlives the driver; the timers live on the stack for as short as they may.
TEST_CASE("timer_queue: each timer fires or is disarmed, never both; and may then be destroyed") {
  constexpr int kThreads = 4;
  constexpr int kTimers = 10'000;
  ManualClock clock(kSecond);
  TimerQueue queue(clock);
  std::vector<std::atomic<int>> fired(kThreads * kTimers);
  std::vector<int> disarmed(kThreads * kTimers);
  {
    Driver driver(queue, clock);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<uint32_t>(t));
        for (int i = 0; i < kTimers; ++i) {
          const auto id = static_cast<size_t>(t * kTimers + i);
          Timer timer(Count, &fired[id]);
          // Due already, due soon (the clock is moved along below), or never in this test.
          const auto offset = static_cast<int64_t>(random() % 3 * (random() % 4) * 1'000);
          queue.Arm(timer, clock.Now() + offset - 500);
          if (random() % 8 == 0) std::this_thread::yield();
          if (random() % 64 == 0) clock.AdvanceBy(700);
          disarmed[id] = queue.Disarm(timer) ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(queue.size() == 0);
  int wrong = 0;
  int both_ways[2] = {0, 0};
  for (size_t id = 0; id < fired.size(); ++id) {
    if (fired[id].load() + disarmed[id] != 1) ++wrong;
    ++both_ways[disarmed[id]];
  }
  CHECK(wrong == 0);
  CHECK(both_ways[1] > 0);
}

// Timers that several threads share: one arms, others disarm, the driver fires.
TEST_CASE("timer_queue: of several disarming threads one wins, or the driver does") {
  constexpr int kRounds = 3'000;
  ManualClock clock(kSecond);
  TimerQueue queue(clock);
  std::atomic<int> fired{0};
  std::atomic<int> disarmed{0};
  std::atomic<bool> done{false};
  Timer timer(Count, &fired);
  bool balanced = true;
  {
    Driver driver(queue, clock);
    queue.Arm(timer, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        while (!done.load()) {
          if (queue.Disarm(timer)) disarmed.fetch_add(1);
          std::this_thread::yield();
        }
      });
    }
    for (int i = 1; i <= kRounds && balanced; ++i) {
      balanced = Eventually([&] { return fired.load() + disarmed.load() == i; });
      if (balanced && i < kRounds) queue.Arm(timer, i % 2 == 0 ? 0 : 2 * kSecond);
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(balanced);
  CHECK(fired.load() + disarmed.load() == kRounds);
  (void)queue.Disarm(timer);
}

// Real time, checked by what must hold: nothing early, nothing forgotten.
TEST_CASE("timer_queue: with the steady clock nothing fires early") {
  struct Expected {
    static void Fire(void* context, uint64_t) {
      auto& self = *static_cast<Expected*>(context);
      self.fired_at.store(self.clock->Now());
    }
    const Clock* clock = nullptr;
    int64_t deadline = 0;
    std::atomic<int64_t> fired_at{0};
    Timer timer{Fire, this};
  };
  const SteadyClock clock;
  TimerQueue queue(clock);
  std::vector<std::unique_ptr<Expected>> all;
  for (int i = 0; i < 2'000; ++i) {
    auto& expected = *all.emplace_back(std::make_unique<Expected>());
    expected.clock = &clock;
    expected.deadline = clock.Now() + i * 10'000 % 5'000'000;
    queue.Arm(expected.timer, expected.deadline);
  }
  REQUIRE(Eventually([&] {
    queue.RunDue();
    return queue.size() == 0;
  }));
  for (const auto& expected : all) REQUIRE(expected->fired_at.load() >= expected->deadline);
}

}  // namespace
}  // namespace ergon::core::timer_queue_test
