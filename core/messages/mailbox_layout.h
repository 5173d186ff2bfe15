// Where a debugger finds the state of a mailbox.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ergon/core/messages/mailbox.h>

namespace ergon::core {

struct MailboxLayout {
  // Offsets in a Mailbox, in bytes.
  static constexpr std::size_t kWord = offsetof(Mailbox, state_) + offsetof(DispatchState, word_);
  static constexpr std::size_t kExpress = offsetof(Mailbox, express_);
  static constexpr std::size_t kTaken = offsetof(Mailbox, taken_);
  static constexpr std::size_t kQueued = offsetof(Mailbox, queued_);
  static constexpr std::size_t kCapacity = offsetof(Mailbox, capacity_);
  // The number of low bits in the word that are not the count, and the values of these bits in a closed
  // mailbox, and in one whose process has nothing to do.
  static constexpr int kTopBits = DispatchState::kTopBits;
  static constexpr std::uint64_t kClosed = DispatchState::kClosed;
  static constexpr std::uint64_t kIdle = DispatchState::kIdle;
  static constexpr std::uint64_t kRedirectedIdle = DispatchState::kRedirectedIdle;
  static constexpr std::uint64_t kRefusedIdle = DispatchState::kRefusedIdle;
};

}  // namespace ergon::core
