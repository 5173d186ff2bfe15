// Memory for a term or a frame that is being made.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal_codec.h>

namespace ergon::dist {

// It is the calling thread's, and used again; only while another one is being made there, a memory of
// its own: a user's serialize() may send, too, or suspend its process, which goes on in another thread
// then.
class Scratch {
 public:
  Scratch() : shared_(Take()) {}
  ~Scratch() {
    if (shared_ != nullptr) shared_->is_taken.store(false, std::memory_order_release);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string& Empty() {
    Memory& memory = Its();
    memory.head_bytes = 0;
    memory.bytes.clear();
    return memory.bytes;
  }
  // What OpenMessage makes, but that the length in front may be that of the former frame until
  // CloseFrame writes it. A stream of messages from one process to another has the same head each
  // time, which is not written again.
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
    // So many bytes at the front of `bytes` are the head of a message from `from` to `to`. 0: none.
    std::size_t head_bytes = 0;
    gen::PID from;
    gen::PID to;
  };
  struct Shared : Memory {
    std::atomic<bool> is_taken = false;
  };
  // Null: it is taken. Not inlined: no address of a thread's own may be carried to where a process goes on in another
  // thread.
  [[gnu::noinline]] static Shared* Take() {
    static thread_local Shared of_thread;
    // Acquire; partner: ~Scratch, perhaps of another thread. This one alone takes it.
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
