// For how long a worker has been in its turn, as far as those who look at it now and then can tell.
//
// Any thread may look. Looks of several threads at once may mix up what they store, so that a turn seems longer or
// shorter than it is, until the next turn is seen.
#pragma once

#include <atomic>
#include <cstdint>

namespace ergon::core {

class SeenTurn {
 public:
  // `turn` is the number of the turn that the worker is in at `now`, in nanoseconds. Returns how long ago that turn was
  // seen first; 0 if that is now.
  std::int64_t Look(std::uint64_t turn, std::int64_t now) noexcept {
    if (turn_.load(std::memory_order_relaxed) == turn) {
      return now - since_.load(std::memory_order_relaxed);
    }
    turn_.store(turn, std::memory_order_relaxed);
    since_.store(now, std::memory_order_relaxed);
    return 0;
  }

 private:
  std::atomic<std::uint64_t> turn_{0};
  std::atomic<std::int64_t> since_{0};
};

}  // namespace ergon::core
