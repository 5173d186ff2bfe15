// How many functions and behaviours that a peer has asked for wait to be run.
#pragma once

#include <atomic>

namespace ergon::dist {

// Each function, and each start of a behaviour, has a process that waits for a worker, and for room for its answer
// while the peer does not take the earlier answers. While too many of them wait, further requests of the peer are put
// aside, as in ReadHold: a frame takes less room than a process and its stack. Functions that run are not counted,
// because they may wait for each other.
class BeginningFunctions {
 public:
  static constexpr int kMost = 128;

  // -- the thread of the network --
  void Add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  // Returns whether no further function may begin: true from kMost on, until half as many are left.
  [[nodiscard]] bool AreTooMany() noexcept {
    if (count_.load(std::memory_order_relaxed) < kMost &&
        !is_awaited_.load(std::memory_order_relaxed)) {
      return false;
    }
    // Sequentially consistent, with Remove: either Remove sees is_awaited_, or this thread sees the new count.
    is_awaited_.store(true);
    if (count_.load() > kMost / 2) return true;
    is_awaited_.store(false);
    return false;
  }

  // -- any thread --
  // Notes that a function runs, or will never run. Returns whether AreTooMany has returned true and would return false
  // now: then the frames that were put aside have to be looked at again.
  [[nodiscard]] bool Remove() noexcept {
    const int left = count_.fetch_sub(1) - 1;  // see AreTooMany
    return left <= kMost / 2 && is_awaited_.load() && is_awaited_.exchange(false);
  }

 private:
  std::atomic<int> count_ = 0;
  std::atomic<bool> is_awaited_ = false;
};

}  // namespace ergon::dist
