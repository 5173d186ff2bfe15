// The timer of a process's waits fires for one that is over, while the process parks in the next: it is armed
// afterwards, not later than for the deadline of that.
#include "shim.h"

#include <ergon/core/messages/await_state.h>
#include <ergon/core/time/wait_timer.h>

#include "checks.h"

namespace ergon::model {
namespace {

constexpr std::int64_t kNow = 5;

class StandingClock final : public core::Clock {
 public:
  [[nodiscard]] std::int64_t Now() const override { return kNow; }
};

struct OnlyTimer {
  void (*fire)(void* context, std::uint64_t argument);
  void* context;
  std::uint64_t argument;
};

// Has one timer; the driver takes it out and fires it later, as TimerQueue does.
class OneTimerQueue {
 public:
  void Arm(OnlyTimer& timer, std::int64_t deadline) {
    Check(deadline_.load() == core::kNever, "armed twice");
    timer_ = &timer;
    deadline_.store(deadline);
  }
  bool Disarm(OnlyTimer&) { return deadline_.exchange(core::kNever) != core::kNever; }
  // The driver. False: nothing is due.
  bool TakeDue() {
    std::int64_t deadline = deadline_.load();
    return deadline <= kNow && deadline_.compare_exchange_strong(deadline, core::kNever);
  }
  void Fire() { timer_->fire(timer_->context, timer_->argument); }
  [[nodiscard]] std::int64_t deadline() const { return deadline_.load(); }

 private:
  OnlyTimer* timer_ = nullptr;  // the same always
  std::atomic<std::int64_t> deadline_{core::kNever};
};

// It was armed for a wait that is over. Thread 0 waits until kFirst, and when kSecond is not 0, has an answer and waits
// until kSecond. Thread 1 is the driver.
template <std::int64_t kFirst, std::int64_t kSecond = 0>
class Waits : public Model {
 public:
  Waits() {
    Wait(3, kNow);
    End();
  }

  void Run(int thread) override {
    if (thread == 1) {
      while (queue_.TakeDue()) queue_.Fire();
      return;
    }
    Wait(1, kFirst);
    if (kSecond == 0) return;
    End();
    Wait(2, kSecond);
  }
  void Finish() override {
    // What was armed while the driver was done already.
    while (queue_.TakeDue()) queue_.Fire();
    const std::int64_t last = kSecond == 0 ? kFirst : kSecond;
    if (last <= kNow) {
      Check(expired_.load() == 1, "the wait does not end");
    } else {
      Check(expired_.load() == 0, "ended before its time");
      Check(queue_.deadline() <= last, "nothing will end the wait");
    }
  }

 private:
  void Wait(std::uint64_t id, std::int64_t deadline) {
    wait_.Begin(id);
    timer_.Note(id, deadline);
    if (wait_.TryPark()) timer_.Cover(deadline);
  }
  void End() {
    core::Envelope* response = nullptr;
    if (wait_.Unpark()) (void)wait_.Interrupt();
    (void)wait_.TakeOutcome(response);
  }
  static void Expire(void* context, std::uint64_t id) {
    auto& self = *static_cast<Waits*>(context);
    const bool is_last = id == (kSecond == 0 ? 1 : 2);
    if (self.wait_.Expire(id) != core::CompleteOutcome::kIgnored && is_last)
      self.expired_.fetch_add(1);
  }

  OneTimerQueue queue_;
  StandingClock clock_;
  core::AwaitState wait_;
  std::atomic<int> expired_{0};
  core::BasicWaitTimer<OneTimerQueue, OnlyTimer> timer_{queue_, clock_, wait_, &Expire, this};
};

// The process parks, and has an answer and ends before it is seen to that the timer is armed for its wait.
class Ends : public Model {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      wait_.Begin(1);
      timer_.Note(1, 10);
      if (wait_.TryPark()) timer_.Cover(10);
    } else if (wait_.Unpark()) {
      core::Envelope* response = nullptr;
      (void)wait_.Interrupt();
      (void)wait_.TakeOutcome(response);
      timer_.Withdraw();
      has_ended_ = true;
    }
  }
  void Finish() override {
    Check(queue_.deadline() == (has_ended_ ? core::kNever : 10), "not armed as it should be");
  }

 private:
  OneTimerQueue queue_;
  StandingClock clock_;
  core::AwaitState wait_;
  bool has_ended_ = false;
  core::BasicWaitTimer<OneTimerQueue, OnlyTimer> timer_{queue_, clock_, wait_,
                                                        [](void*, std::uint64_t) {}, nullptr};
};

TEST_CASE("model: the timer of waits") {
  CheckModel<Ends>({.name = "wait-timer-end"}, 10);
  CheckModel<Waits<10>>({.name = "wait-timer-later"}, 15);
  CheckModel<Waits<kNow>>({.name = "wait-timer-due"}, 20);
  CheckModel<Waits<10, 8>>({.name = "wait-timer-sooner"}, 100);
  CheckModel<Waits<10, kNow>>({.name = "wait-timer-then-due"}, 100);
  CheckModel<Waits<3, 10>>({.name = "wait-timer-armed-again"}, 100);
}

}  // namespace
}  // namespace ergon::model
