// Where a debugger finds what a mailbox says of itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ergon/core/messages/mailbox.h>

namespace ergon::core {

struct MailboxLayout {
  // Offsets in a Mailbox, in bytes.
  static constexpr std::size_t kWord = offsetof(Mailbox, state_) + offsetof(DispatchState, word_);
  static constexpr std::size_t kTaken = offsetof(Mailbox, taken_);
  static constexpr std::size_t kQueued = offsetof(Mailbox, queued_);
  static constexpr std::size_t kCapacity = offsetof(Mailbox, capacity_);
  // Of the word: the number of its low bits that are not the count, and what those are of a closed one.
  static constexpr int kTopBits = DispatchState::kTopBits;
  static constexpr std::uint64_t kClosed = DispatchState::kClosed;
};

}  // namespace ergon::core
