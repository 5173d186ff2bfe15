// Drops that wait until a lock is released: they run destructors of users, and tell subscribers of dead letters.
#pragma once

#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/delivery.h>

namespace ergon::node {

// While one lives, what full mailboxes push out on its thread is not dropped yet; its destructor drops that, so it has to
// be made before the lock is taken. One thread.
class LateDrops {
 public:
  explicit LateDrops(Delivery& delivery) noexcept : delivery_(delivery), former_(current_) {
    current_ = this;
  }
  LateDrops(const LateDrops&) = delete;
  LateDrops& operator=(const LateDrops&) = delete;
  ~LateDrops();

  // Keeps the arguments of Delivery::DropPushedOut for later. Returns false if they are to be used now: none lives on
  // this thread, or there is no memory.
  [[nodiscard]] static bool Keep(core::EnvelopePtr& envelope, gen::PID receiver,
                                 gen::PID waiting_pool) noexcept;

 private:
  struct Kept {
    core::EnvelopePtr envelope;
    gen::PID receiver;
    gen::PID waiting_pool;
  };

  Delivery& delivery_;
  LateDrops* const former_;
  std::vector<Kept> kept_;
  static thread_local constinit LateDrops* current_;
};

}  // namespace ergon::node
