// The envelopes that a process made of a function has taken out of its mailbox and not received yet.
#pragma once

#include <cstdint>

#include <ergon/core/messages/envelope.h>

namespace ergon::gen {
class Receiver;
}  // namespace ergon::gen

namespace ergon::node {

// Belongs to the thread with the right to run the process.
struct PassedOver {
  // Linked by `next`, the oldest first: their handling has not begun.
  core::Envelope* first = nullptr;
  core::Envelope* last = nullptr;
  std::uint32_t messages = 0;         // of them, without notices
  gen::Receiver* receiver = nullptr;  // the Receive that goes on, if one does
  struct Stretch {                    // since the process last let others run
    std::uint32_t messages = 0;
    std::int64_t began = 0;
  } stretch = {};
};

}  // namespace ergon::node
