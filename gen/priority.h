// How urgent a message is.
#pragma once

#include <concepts>
#include <cstdint>

namespace ergon::gen {

// A process handles all its max before its high before its normal messages. Only normal messages
// count against a mailbox's bound, and only they are forwarded by a pool.
enum class MessagePriority : std::uint8_t { kNormal = 0, kHigh = 1, kMax = 2 };

namespace detail {
// Where options are expected.
template <class T>
concept BarePriority = std::same_as<T, MessagePriority>;

// Does not compile.
template <BarePriority Priority>
Priority Refuse(Priority priority) {
  static_assert(!BarePriority<Priority>,
                "Call: a priority is one of its options: Call(to, request, {.priority = ...})");
  return priority;
}
}  // namespace detail

}  // namespace ergon::gen
