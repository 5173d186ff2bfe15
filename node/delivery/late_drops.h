// Drops that wait until a lock is released: they run destructors of users, and tell subscribers of dead letters.
#pragma once

#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>

namespace ergon::node {

// While one lives, what full mailboxes push out on its thread is not dropped yet. Its destructor drops that, or gives
// it to the one around, so it has to be made before the lock is taken. The handler must not be suspended while one
// lives.
class LateDrops {
 public:
  // Who drops what was kept.
  class Dropper {
   public:
    // Drops what a full mailbox has pushed out. `waiting_pool`: whose worker the receiver is, if that pool waits until
    // the worker is done with it. `is_told`: also to who listens to dead letters.
    virtual void DropPushedOut(core::EnvelopePtr envelope, gen::PID receiver, gen::PID waiting_pool,
                               bool is_told) = 0;

   protected:
    ~Dropper() = default;
  };
  explicit LateDrops(Dropper& dropper) noexcept;
  LateDrops(const LateDrops&) = delete;
  LateDrops& operator=(const LateDrops&) = delete;
  ~LateDrops();

  // Keeps the arguments of DropPushedOut for later. Returns false if they are to be used now: none lives on
  // this thread, or there is no memory.
  [[nodiscard]] static bool Keep(core::EnvelopePtr& envelope, gen::PID receiver,
                                 gen::PID waiting_pool) noexcept;

 private:
  struct Kept {
    core::EnvelopePtr envelope;
    gen::PID receiver;
    gen::PID waiting_pool;
    bool is_told = true;
  };
  static bool KeepIn(LateDrops* drops, Kept& kept) noexcept;

  Dropper& dropper_;
  LateDrops* const former_;
  std::vector<Kept> kept_;
  static thread_local constinit LateDrops* current_;
};

}  // namespace ergon::node
