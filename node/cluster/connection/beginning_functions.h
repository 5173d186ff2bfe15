// How many functions and behaviours that a peer has asked for wait to be run.
#pragma once

#include <atomic>

namespace ergon::dist {

// Each function, and each start of a behaviour, has a process that waits for a worker, and for room for its answer while
// the peer does not take the answers before it. So what a peer asks is put aside while too many of them wait, as in ReadHold: a frame takes less room than a
// process and its stack. What runs is not counted, since it may wait for each other.
class BeginningFunctions {
 public:
  static constexpr int kMost = 128;

  // -- the thread of the network --
  void Add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  // Returns whether no further one may begin: from kMost on, until there are half as many.
  [[nodiscard]] bool AreTooMany() noexcept {
    if (count_.load(std::memory_order_relaxed) < kMost &&
        !is_awaited_.load(std::memory_order_relaxed)) {
      return false;
    }
    // Sequentially consistent, with Remove: either that sees that somebody waits, or this sees the new count.
    is_awaited_.store(true);
    if (count_.load() > kMost / 2) return true;
    is_awaited_.store(false);
    return false;
  }

  // -- any thread --
  // One runs, or will never run. Returns whether that ends what AreTooMany has told: then somebody has to look again.
  [[nodiscard]] bool Remove() noexcept {
    const int left = count_.fetch_sub(1) - 1;  // see AreTooMany
    return left <= kMost / 2 && is_awaited_.load() && is_awaited_.exchange(false);
  }

 private:
  std::atomic<int> count_ = 0;
  std::atomic<bool> is_awaited_ = false;
};

}  // namespace ergon::dist
