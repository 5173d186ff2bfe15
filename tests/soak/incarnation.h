// One life of a pool or process that is started again when it ends.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <ergon/gen/pid.h>

namespace ergon::soak {

inline constexpr int kMaxSenders = 64;

struct Incarnation {
  // `in_order`: what one sender sends is handled in that order, all through its life.
  Incarnation(gen::PID process, bool in_order) : pid(process), ordered(in_order) {}

  const gen::PID pid;
  const bool ordered;
  std::atomic<bool> ending{false};  // somebody has told it to end
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> crashed{0};  // messages whose handler failed
  // Delayed messages: nobody learns whether it took them before they are handled.
  std::atomic<std::uint64_t> delayed_started{0};
  std::atomic<std::uint64_t> delayed_unstarted{0};
  std::atomic<std::uint64_t> delayed_cancelled{0};
  // The number of the last message handled, for each sender.
  std::array<std::atomic<std::uint64_t>, kMaxSenders> last{};
};
using IncarnationPtr = std::shared_ptr<Incarnation>;

// Where senders look up who holds the post now. Any thread.
class Post {
 public:
  // Null while it is vacant.
  [[nodiscard]] IncarnationPtr Holder() const {
    std::lock_guard lock(mutex_);
    return holder_;
  }
  void Fill(IncarnationPtr holder) {
    std::lock_guard lock(mutex_);
    holder_ = std::move(holder);
  }

 private:
  mutable std::mutex mutex_;
  IncarnationPtr holder_;
};

}  // namespace ergon::soak
