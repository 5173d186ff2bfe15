// Ends processes one after the other: the next one is asked when the former one has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include <ergon/gen/pid.h>

namespace ergon::node {

// Any thread.
class StopSequence {
 public:
  // `ask` asks one process to end and returns false if it is gone already.
  StopSequence(std::vector<gen::PID> order, std::function<bool(gen::PID)> ask)
      : order_(std::move(order)), ask_(std::move(ask)) {}

  void Start() {
    std::unique_lock lock(mutex_);
    AskNext(lock);
  }
  // Returns whether all have been asked, and the last one has ended.
  [[nodiscard]] bool IsDone() {
    std::lock_guard lock(mutex_);
    return done_;
  }
  // Returns the process that is waited for; after IsDone the last one.
  [[nodiscard]] gen::PID Waited() {
    std::lock_guard lock(mutex_);
    return next_ == 0 ? gen::PID() : order_[next_ - 1];
  }
  // Notes that a process has ended.
  void Ended(gen::PID pid) {
    std::unique_lock lock(mutex_);
    if (next_ == 0 || order_[next_ - 1] != pid || asking_) {
      // Not the process that is waited for, or it ended while it was being asked: AskNext finds out.
      if (asking_ && next_ > 0 && order_[next_ - 1] == pid) ended_while_asking_ = true;
      return;
    }
    AskNext(lock);
  }

 private:
  void AskNext(std::unique_lock<std::mutex>& lock) {
    while (next_ < order_.size()) {
      const gen::PID pid = order_[next_++];
      asking_ = true;
      ended_while_asking_ = false;
      lock.unlock();
      const bool asked = ask_(pid);
      lock.lock();
      asking_ = false;
      if (asked && !ended_while_asking_) return;
    }
    done_ = true;
  }

  std::mutex mutex_;
  const std::vector<gen::PID> order_;
  const std::function<bool(gen::PID)> ask_;
  std::size_t next_ = 0;
  bool asking_ = false;
  bool ended_while_asking_ = false;
  bool done_ = false;
};

}  // namespace ergon::node
