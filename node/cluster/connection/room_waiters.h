// Processes that wait for room on the way to another node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ergon/gen/pid.h>

namespace ergon::dist {

struct RoomWaiter {  // see Transport::AwaitRoom
  gen::PID local;
  std::uint64_t id;
};

// Whoever has stopped waiting is not taken out at once, and is told in vain later. There are not many of them: when the
// list has grown to twice of what it was when all were asked, all are asked again. With the lock of the connection.
class RoomWaiters {
 public:
  // Adds a waiter. `still_waits(waiter)` says of one that was added before whether it waits still.
  template <class StillWaits>
  void Add(const RoomWaiter& waiter, const StillWaits& still_waits) {
    if (waiters_.size() >= ask_at_) {
      std::erase_if(waiters_, [&](const RoomWaiter& other) { return !still_waits(other); });
      ask_at_ = std::max(kAskAt, 2 * waiters_.size());
    }
    waiters_.push_back(waiter);
  }
  [[nodiscard]] std::vector<RoomWaiter> TakeAll() {
    ask_at_ = kAskAt;
    return std::exchange(waiters_, {});
  }
  [[nodiscard]] std::size_t size() const noexcept { return waiters_.size(); }

  static constexpr std::size_t kAskAt = 64;

 private:
  std::vector<RoomWaiter> waiters_;
  std::size_t ask_at_ = kAskAt;
};

}  // namespace ergon::dist
