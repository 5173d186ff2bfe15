// What makes a slot the address of a pool. Belongs to the slot and is never freed while the node
// lives: a late sender may still read it.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/messages/rotation.h>
#include <ergon/gen/host/pool_host.h>

namespace ergon::node {

struct PoolSlot {
  core::Rotation rotation;
  // True: senders may use the rotation. False while the pool itself holds messages, which are older than theirs: a
  // sender that was interrupted after it had been redirected must not overtake them.
  std::atomic<bool> open{false};
  // Messages on their way back to the pool, because their receiver's slot has a new process.
  std::atomic<std::int64_t> late{0};
  std::atomic<bool> makes_room{false};  // see PoolHost::SetPoolMakesRoom
  // See PoolHost::SetSenderRules. Senders of a pool that keeps to the plain rotation look at the
  // first of these only.
  std::atomic<bool> has_rules{false};
  std::atomic<gen::SenderChoice> choice{gen::SenderChoice::kRotation};
  std::atomic<std::uint64_t> seed{0};
  // kLeastLoaded: the position after the worker that was chosen last, where a search begins among equals. If it began
  // at the worker whose turn it is by the tickets, the worker behind one that is never free would have two turns.
  std::atomic<std::uint64_t> next_choice{0};
  std::atomic<std::int64_t> admission_limit{0};  // ns
  std::atomic<std::int64_t> retry_after{0};      // ns; see PoolHost::TryCloseMain
  std::atomic<std::uint64_t> overloaded{0};      // refused for that, or for the limit
  std::atomic<std::uint64_t> overflowed{0};      // dropped by workers because they were full
  std::atomic<std::uint64_t> settled{0};         // see PoolHost::SetSettled
  std::atomic<std::uint64_t> never_given{0};
  std::atomic<bool> shortage{false};  // see PoolHost::NoteShortage

  // Returns whether senders follow only the rotation.
  [[nodiscard]] bool IsPlain() const noexcept { return !has_rules.load(std::memory_order_relaxed); }
  // Returns how many messages have come to their end here, as far as it is known from workers that have ended.
  [[nodiscard]] std::uint64_t Settled() const noexcept {
    return settled.load(std::memory_order_relaxed) + overflowed.load(std::memory_order_relaxed);
  }

  // Prepares this for the slot's next process.
  void Reset() noexcept {
    rotation.Reset();
    open.store(false, std::memory_order_relaxed);
    late.store(0, std::memory_order_relaxed);
    makes_room.store(false, std::memory_order_relaxed);
    has_rules.store(false, std::memory_order_relaxed);
    choice.store(gen::SenderChoice::kRotation, std::memory_order_relaxed);
    next_choice.store(0, std::memory_order_relaxed);
    admission_limit.store(0, std::memory_order_relaxed);
    retry_after.store(0, std::memory_order_relaxed);
    overloaded.store(0, std::memory_order_relaxed);
    overflowed.store(0, std::memory_order_relaxed);
    settled.store(0, std::memory_order_relaxed);
    never_given.store(0, std::memory_order_relaxed);
    shortage.store(false, std::memory_order_relaxed);
  }
};

}  // namespace ergon::node
