// The messages of periodic sends, which are called ticks, on their way through mailboxes.
//
// A tick is stamped with its timer's number (kFlagStamped). Whoever takes a tick out of a mailbox asks here whether
// that timer still runs; so no tick of a cancelled timer is handled, wherever it waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <ergon/core/messages/envelope.h>

namespace ergon::node {

// The timers that run. Any thread.
class Ticks {
 public:
  // Whether a tick of a timer waits in a mailbox.
  using Waits = std::shared_ptr<std::atomic<bool>>;

  [[nodiscard]] Waits Add(std::uint64_t timer) {
    auto waits = std::make_shared<std::atomic<bool>>(false);
    std::lock_guard lock(mutex_);
    running_.emplace(timer, waits);
    return waits;
  }
  void Remove(std::uint64_t timer) {
    std::lock_guard lock(mutex_);
    running_.erase(timer);
  }

  // Notes that a tick leaves its mailbox to be handled. Returns false if it must not be: its timer has ended.
  [[nodiscard]] bool NoteTaken(const core::Envelope& tick) { return SetWaits(tick, false); }
  // Notes that a tick that was taken goes to another mailbox, or is kept for later.
  void WaitsAgain(const core::Envelope& tick) { (void)SetWaits(tick, true); }
  // Notes that a tick has left its mailbox in another way.
  void Lost(const core::Envelope& tick) { (void)NoteTaken(tick); }

 private:
  // Returns false if the timer has ended.
  bool SetWaits(const core::Envelope& tick, bool waits) {
    std::lock_guard lock(mutex_);
    auto found = running_.find(static_cast<std::uint64_t>(tick.deadline));
    if (found == running_.end()) return false;
    found->second->store(waits, std::memory_order_release);
    return true;
  }

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Waits> running_;  // by the timers' numbers
};

}  // namespace ergon::node
