// Requests that wait in a mailbox although their caller has got the error of a deadlock; they are skipped.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace ergon::node {

// Any thread.
class WithdrawnRequests {
 public:
  // Answers the caller by `tell`, which returns whether the caller still waited. If so, the request is withdrawn before
  // the caller can do anything that its receiver learns of.
  template <class Tell>
  bool Withdraw(std::uint64_t id, Tell&& tell) {
    const std::lock_guard lock(mutex_);
    // First: the caller, and all that follows from its answer, sees the count. Partner: TakeNote.
    count_.fetch_add(1, std::memory_order_relaxed);
    if (tell()) {
      ids_.insert(id);
      return true;
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }

  // Returns whether a request was withdrawn, and forgets it.
  [[nodiscard]] bool TakeNote(std::uint64_t id) {
    if (count_.load(std::memory_order_relaxed) == 0) [[likely]]
      return false;
    const std::lock_guard lock(mutex_);
    if (ids_.erase(id) == 0) return false;
    count_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

 private:
  alignas(64) std::atomic<std::uint64_t> count_{0};  // seldom written, read with each request
  alignas(64) std::mutex mutex_;
  std::unordered_set<std::uint64_t> ids_;  // guarded by mutex_
};

}  // namespace ergon::node
