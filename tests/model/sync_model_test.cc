// The spin lock and the event, with the futex below them.
#include "shim.h"

#include "checks.h"

namespace ergon::model {
namespace {

using core::Event;
using core::SpinLock;

// Two take the lock and a third tries to.
class Lock : public Model {
 public:
  void Run(int thread) override {
    if (thread < 2) {
      std::lock_guard guard(lock_);
      inside_.Write(inside_.Read() + 1);
    } else if (lock_.try_lock()) {
      inside_.Write(inside_.Read() + 1);
      lock_.unlock();
      tried_ = true;
    }
  }
  void Finish() override {
    Check(inside_.Read() == (tried_ ? 3 : 2), "two were inside at once");
    Check(lock_.try_lock(), "the lock was not given back");
  }

 private:
  SpinLock lock_;
  Plain<int> inside_{0};
  bool tried_ = false;
};

TEST_CASE("model: the spin lock") {
  CheckModel<Lock>({.name = "spin-lock", .threads = 3, .locks_block = false}, 100);
}

// The last waiter destroys the event as soon as its Wait has returned.
template <int kWaiters, int kSetters>
class WaitAndSet : public Model {
 public:
  WaitAndSet() { event_.emplace(); }
  void Run(int thread) override {
    if (thread < kSetters) {
      if (thread == 0) data_.Write(1);
      event_->Set();
    } else {
      event_->Wait();
      if (kSetters == 1) Check(data_.Read() == 1, "not what was written before Set");
      if (kWaiters == 1 && kSetters == 1) event_.reset();
    }
  }

 private:
  std::optional<Event> event_;
  Plain<int> data_{0};
};

TEST_CASE("model: an event, set and awaited") {
  CheckModel<WaitAndSet<1, 1>>({.name = "event-1-1", .spurious = 1}, 13);
  CheckModel<WaitAndSet<2, 1>>({.name = "event-2-1", .threads = 3}, 100);
  CheckModel<WaitAndSet<1, 2>>({.name = "event-1-2", .threads = 3}, 20);
}

class TimedWait : public Model {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      data_.Write(1);
      event_.Set();
    } else {
      const bool is_set = event_.WaitFor(1'000);
      if (is_set) Check(data_.Read() == 1, "not what was written before Set");
      Check(is_set || hooks::Now() >= 1'000, "timed out too early");
    }
  }

 private:
  Event event_;
  Plain<int> data_{0};
};

TEST_CASE("model: an event, awaited with a time-out") {
  CheckModel<TimedWait>({.name = "event-timed", .spurious = 1, .timeouts = 1}, 10);
}

}  // namespace
}  // namespace ergon::model
