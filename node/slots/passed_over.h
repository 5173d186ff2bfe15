// What a process made of a function has taken out of its mailbox and not received yet.
#pragma once

#include <cstdint>
#include <deque>

#include <ergon/core/messages/envelope.h>

namespace ergon::gen {
class Receiver;
}  // namespace ergon::gen

namespace ergon::node {

// Belongs to the one with the right to run the process.
struct PassedOver {
  std::deque<core::EnvelopePtr> envelopes;  // oldest first; their handling has not begun
  std::uint32_t messages = 0;               // of them
  std::uint32_t bound = 0;                  // of the mailbox and these together; 0: none
  // Nothing more is looked at, but what comes with priority.
  [[nodiscard]] bool IsFull() const noexcept { return bound != 0 && messages > bound; }
  gen::Receiver* receiver = nullptr;  // the Receive that goes on, if one does
  struct Stretch {                    // since it let others go first
    std::uint32_t messages = 0;
    std::int64_t began = 0;
  } stretch = {};
};

}  // namespace ergon::node
