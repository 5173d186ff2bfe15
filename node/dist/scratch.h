// Memory for a term or a frame that is being made.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

namespace ergon::dist {

// Empty at first. It is the calling thread's, and used again; only while another one is being made there, a memory of
// its own: a user's serialize() may send, too, or suspend its process, which goes on in another thread then.
class Scratch {
 public:
  Scratch() {
    // Acquire; partner: ~Scratch, perhaps of another thread. This one alone takes it.
    if (of_thread.is_taken.load(std::memory_order_acquire)) return;
    of_thread.is_taken.store(true, std::memory_order_relaxed);
    shared_ = &of_thread;
    shared_->bytes.clear();
    if (shared_->bytes.capacity() > kMostKeptBytes) shared_->bytes.shrink_to_fit();
  }
  ~Scratch() {
    if (shared_ != nullptr) shared_->is_taken.store(false, std::memory_order_release);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string& bytes() noexcept { return shared_ != nullptr ? shared_->bytes : own_; }

 private:
  static constexpr std::size_t kMostKeptBytes = 1024 * 1024;
  struct Shared {
    std::string bytes;
    std::atomic<bool> is_taken;  // false at first
  };
  static inline thread_local Shared of_thread;

  Shared* shared_ = nullptr;
  std::string own_;
};

}  // namespace ergon::dist
