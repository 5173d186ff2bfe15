// The last messages that were dropped.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <typeinfo>
#include <vector>

#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/dropped_message.h>
#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>

namespace ergon::node {

// A ring. Any thread; a drop that finds another one being noted, or looked at, is only counted.
class DropMemory {
 public:
  static constexpr int kMost = 4096;

  struct Drop {
    std::int64_t time = 0;  // Clock ns
    gen::PID to = {};
    const std::type_info* behavior = nullptr;  // of the receiver; null: not known
    gen::PID from = {};
    const core::TypeDescriptor* type = nullptr;
    gen::DropReason reason = gen::DropReason::kTerminated;
    gen::Error error = gen::ErrProcessTerminated;
  };

  explicit DropMemory(int size) : size_(static_cast<std::size_t>(size)) {}

  // Notes the drop that `make` returns; `make` is called only if the drop is noted.
  template <class Make>
  void Note(Make&& make) {
    if (size_ == 0) return;
    // A storm of drops must not line up its senders.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) {
      Keep(make());
    } else {
      skipped_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Returns a drop as users see it; `started_at`: of the node, Clock ns.
  [[nodiscard]] static gen::DroppedMessage Describe(const Drop& drop, std::int64_t started_at);
  // Returns the drops, newest first.
  [[nodiscard]] std::vector<gen::DroppedMessage> Newest(std::int64_t started_at) const;
  // Returns how many drops were not noted because another one was just being noted.
  [[nodiscard]] std::uint64_t skipped() const noexcept {
    return skipped_.load(std::memory_order_relaxed);
  }

 private:
  void Keep(Drop drop);

  const std::size_t size_;
  std::atomic<std::uint64_t> skipped_{0};
  mutable std::mutex mutex_;
  // -- guarded by mutex_ --
  std::vector<Drop> ring_;
  std::size_t next_ = 0;  // the oldest one, once the ring is full
};

}  // namespace ergon::node
