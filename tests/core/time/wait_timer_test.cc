#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/time/wait_timer.h>

namespace ergon::core::wait_timer_test {
namespace {

// A process's waits, without the process.
class Waits {
 public:
  void Begin(std::int64_t deadline) {
    wait_.Begin(++id_);
    timer_.Note(id_, deadline);
    REQUIRE(wait_.TryPark());
    timer_.Cover(deadline);
  }
  void End() {
    Envelope* response = nullptr;
    (void)wait_.Unpark();
    (void)wait_.Interrupt();
    (void)wait_.TakeOutcome(response);
  }
  std::size_t PassUntil(std::int64_t time) {
    clock.AdvanceTo(time);
    return queue.RunDue();
  }
  void Withdraw() { timer_.Withdraw(); }

  ManualClock clock;
  TimerQueue queue{clock};
  std::vector<std::uint64_t> expired;

 private:
  std::uint64_t id_ = 0;
  AwaitState wait_;
  WaitTimer timer_{queue, clock, wait_,
                   [](void* context, std::uint64_t id) {
                     auto& self = *static_cast<Waits*>(context);
                     if (self.wait_.Expire(id) != CompleteOutcome::kIgnored)
                       self.expired.push_back(id);
                   },
                   this};
};

TEST_CASE("wait timer: a wait that takes too long ends at its deadline") {
  Waits waits;
  waits.Begin(100);
  CHECK(waits.PassUntil(99) == 0);
  CHECK(waits.PassUntil(100) == 1);
  CHECK(waits.expired == std::vector<std::uint64_t>{1});
  CHECK(waits.queue.size() == 0);
}

TEST_CASE("wait timer: armed once for many waits, and for the deadline of the last when it fires") {
  Waits waits;
  for (std::int64_t i = 0; i < 50; ++i) {
    waits.Begin(100 + i);
    CHECK(waits.queue.size() == 1);
    CHECK(waits.queue.NextDeadline() == 100);
    waits.End();
    waits.PassUntil(i + 1);
  }
  waits.Begin(170);
  CHECK(waits.PassUntil(100) == 1);
  CHECK(waits.expired.empty());
  CHECK(waits.queue.NextDeadline() == 170);
  CHECK(waits.PassUntil(170) == 1);
  CHECK(waits.expired == std::vector<std::uint64_t>{51});
}

TEST_CASE("wait timer: a wait that is to end sooner than the timer fires") {
  Waits waits;
  waits.Begin(1000);
  waits.End();
  waits.Begin(100);
  CHECK(waits.queue.size() == 1);
  waits.PassUntil(100);
  CHECK(waits.expired == std::vector<std::uint64_t>{2});
  CHECK(waits.queue.size() == 0);
}

TEST_CASE("wait timer: nothing is armed any more once it has fired for nobody") {
  Waits waits;
  waits.Begin(100);
  waits.End();
  CHECK(waits.queue.size() == 1);
  CHECK(waits.PassUntil(100) == 1);
  CHECK(waits.expired.empty());
  CHECK(waits.queue.size() == 0);
  waits.Begin(300);  // and again
  waits.PassUntil(300);
  CHECK(waits.expired == std::vector<std::uint64_t>{2});
}

TEST_CASE("wait timer: withdrawn") {
  Waits waits;
  waits.Begin(100);
  waits.End();
  waits.Withdraw();
  CHECK(waits.queue.size() == 0);
  waits.Begin(200);
  CHECK(waits.queue.NextDeadline() == 200);
  waits.PassUntil(200);
  CHECK(waits.expired == std::vector<std::uint64_t>{2});
}

TEST_CASE("wait timer: a wait without an end arms nothing, also when the timer fires") {
  Waits waits;
  waits.Begin(100);
  waits.End();
  waits.Begin(kNever);
  CHECK(waits.PassUntil(100) == 1);
  CHECK(waits.queue.size() == 0);
  waits.End();
  waits.Withdraw();
  waits.Begin(1000);
  CHECK(waits.queue.size() == 1);
  waits.PassUntil(1000);
  CHECK(waits.expired == std::vector<std::uint64_t>{3});
}

}  // namespace
}  // namespace ergon::core::wait_timer_test
