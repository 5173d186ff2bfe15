// The messages of periodic sends, which are called ticks, on their way through mailboxes.
//
// A tick is stamped with its timer's number (kFlagStamped). Whoever takes a tick out of a mailbox asks here whether
// that timer still runs; so no tick of a cancelled timer is handled, wherever it waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <ergon/core/messages/envelope.h>

namespace ergon::node {

// The timers that run. Any thread.
class Ticks {
 public:
  void Add(std::uint64_t timer) {
    std::lock_guard lock(mutex_);
    waiting_.emplace(timer, 0);
  }
  void Remove(std::uint64_t timer) {
    std::lock_guard lock(mutex_);
    waiting_.erase(timer);
  }
  // Notes that a tick is about to be sent. Returns false if it must not be: one waits in a mailbox, or the timer has
  // ended.
  [[nodiscard]] bool TryBegin(std::uint64_t timer) {
    std::lock_guard lock(mutex_);
    const auto found = waiting_.find(timer);
    return found != waiting_.end() && std::exchange(found->second, std::max(found->second, 1)) == 0;
  }
  // Notes that it was not sent.
  void TakeBack(std::uint64_t timer) { (void)Count(timer, -1); }

  // Notes that a tick leaves its mailbox to be handled. Returns false if it must not be: its timer has ended.
  [[nodiscard]] bool NoteTaken(const core::Envelope& tick) { return Count(TimerOf(tick), -1); }
  // Notes that a tick that was taken goes to another mailbox, or is kept for later; or that there is a copy of one.
  void WaitsAgain(const core::Envelope& tick) { (void)Count(TimerOf(tick), 1); }
  // Notes that a tick has left its mailbox in another way.
  void Lost(const core::Envelope& tick) { (void)NoteTaken(tick); }

 private:
  [[nodiscard]] static std::uint64_t TimerOf(const core::Envelope& tick) noexcept {
    return static_cast<std::uint64_t>(tick.deadline);
  }
  // Returns false if the timer has ended. A tick that was stashed is taken twice.
  bool Count(std::uint64_t timer, int more) {
    std::lock_guard lock(mutex_);
    const auto found = waiting_.find(timer);
    if (found == waiting_.end()) return false;
    found->second = std::max(found->second + more, 0);
    return true;
  }

  std::mutex mutex_;
  // How many ticks of each timer that runs wait in mailboxes: several if a pool broadcasts them.
  std::unordered_map<std::uint64_t, int> waiting_;
};

}  // namespace ergon::node
