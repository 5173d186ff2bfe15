// A message that was accepted but will not be handled, and why.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/pid.h>

namespace ergon::gen {

enum class DropReason : std::uint8_t {
  kTerminated,    // the receiver ended first
  kUnknown,       // the receiver had ended between look-up and delivery
  kMailboxFull,   // no receiver had room
  kExpired,       // the caller had stopped waiting, or the timer was cancelled
  kNoConnection,  // the connection with the receiver's node was lost before it was sent there
  kUnreadable,    // between nodes: it does not fit the type that it should have there
  kFailed,        // a function of the user's that places or copies it threw
};
inline constexpr int kDropReasons = 7;

constexpr std::string_view ToString(DropReason reason) {
  switch (reason) {
    case DropReason::kTerminated:
      return "terminated";
    case DropReason::kUnknown:
      return "unknown";
    case DropReason::kMailboxFull:
      return "mailbox full";
    case DropReason::kExpired:
      return "expired";
    case DropReason::kNoConnection:
      return "no connection";
    case DropReason::kUnreadable:
      return "unreadable";
    case DropReason::kFailed:
      return "failed";
  }
  return "unknown reason";
}

// See Node::LastDrops.
struct DroppedMessage {
  std::chrono::nanoseconds time{0};    // when: the node's clock, as Process::Now
  std::chrono::nanoseconds uptime{0};  // the same since the node's start
  PID to;                              // empty: a name or alias that belonged to no process then
  std::string behavior;  // the receiver's class name; empty: another process has its slot
  PID from;
  std::string type;  // of the message: its kTag, or its name in C++
  DropReason reason = DropReason::kTerminated;
  std::string error;  // what happened; a request's caller got the same error
};

}  // namespace ergon::gen
