// Memory for a term or a frame that is being made.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal_codec.h>

namespace ergon::dist {

// The memory belongs to the calling thread, and is used again. While a term is being made there, a second Scratch has
// memory of its own: a user's serialize() may send, too, or suspend its process, which then goes on in another thread.
class Scratch {
 public:
  Scratch() : shared_(TakeOfThread()) {}
  ~Scratch() {
    if (shared_ != nullptr) shared_->is_taken.store(false, std::memory_order_release);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Returns an empty string.
  [[nodiscard]] std::string& Empty() {
    Memory& memory = Its();
    memory.head_bytes = 0;
    memory.bytes.clear();
    return memory.bytes;
  }
  // Returns what OpenMessage makes. The length in front may be that of the former frame until CloseFrame writes it. A
  // stream of messages from one process to another has the same head each time, which is not written again.
  [[nodiscard]] std::string& OfMessage(const gen::PID& from, const gen::PID& to) {
    Memory& memory = Its();
    if (memory.head_bytes != 0 && memory.to == to && memory.from == from) {
      memory.bytes.resize(memory.head_bytes);
      return memory.bytes;
    }
    std::string& bytes = Empty();
    OpenMessage(bytes, from, to);
    memory.from = from;
    memory.to = to;
    memory.head_bytes = bytes.size();
    return bytes;
  }

 private:
  static constexpr std::size_t kMostKeptBytes = 1024 * 1024;
  struct Memory {
    std::string bytes;
    // How many bytes at the front of `bytes` are the head of a message from `from` to `to`.
    std::size_t head_bytes = 0;
    gen::PID from;
    gen::PID to;
  };
  struct Shared : Memory {
    std::atomic<bool> is_taken = false;
  };
  // Returns the memory of the calling thread, or null if it is in use. This function is not inlined: a process must not
  // keep the address of a thread-local variable when it goes on in another thread.
  [[gnu::noinline]] static Shared* TakeOfThread() {
    static thread_local Shared of_thread;
    // Acquire; partner: the release in ~Scratch, perhaps in another thread. Only this thread takes the memory.
    if (of_thread.is_taken.load(std::memory_order_acquire)) return nullptr;
    of_thread.is_taken.store(true, std::memory_order_relaxed);
    if (of_thread.bytes.capacity() > kMostKeptBytes) {
      of_thread.head_bytes = 0;
      of_thread.bytes.clear();
      of_thread.bytes.shrink_to_fit();
    }
    return &of_thread;
  }
  [[nodiscard]] Memory& Its() noexcept { return shared_ != nullptr ? *shared_ : own_; }

  Shared* const shared_;
  Memory own_;
};

}  // namespace ergon::dist
