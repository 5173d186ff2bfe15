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
  Scratch() : shared_(Take()) {}
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
  // Null: it is taken. Not inlined: no address of a thread's own may be carried to where a process goes on in another
  // thread.
  [[gnu::noinline]] static Shared* Take() {
    static thread_local Shared of_thread;
    // Acquire; partner: ~Scratch, perhaps of another thread. This one alone takes it.
    if (of_thread.is_taken.load(std::memory_order_acquire)) return nullptr;
    of_thread.is_taken.store(true, std::memory_order_relaxed);
    of_thread.bytes.clear();
    if (of_thread.bytes.capacity() > kMostKeptBytes) of_thread.bytes.shrink_to_fit();
    return &of_thread;
  }

  Shared* const shared_;
  std::string own_;
};

}  // namespace ergon::dist
