// Dropped messages as an event.
#pragma once

#include <string_view>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/dropped_message.h>

namespace ergon::gen {

// The event that each node itself produces: MonitorEvent({kDeadLetters, {}}). Its values are of type DeadLetter, one
// for each message, request or event that is dropped from then on: because its receiver has ended or has no room, or
// a delayed send finds nobody. Not for what a sender learns by an error instead; requests and timers whose time was
// up; what was lost with a connection; and dead letters themselves, and what those drop. All of it is counted in any
// case (Node::Info). While nobody subscribes it costs nothing.
inline constexpr std::string_view kDeadLetters = "dead_letters";

class DeadLetter {
 public:
  DeadLetter(DroppedMessage what, core::EnvelopePtr message)
      : what_(std::move(what)), message_(std::move(message)) {}

  // Who, to whom, what, when and why. The sender of a request was told the same error.
  [[nodiscard]] const DroppedMessage& what() const noexcept { return what_; }
  // The message's value, or null when it has another type. All subscribers share it.
  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return message_->template ValueAs<T>();
  }

 private:
  DroppedMessage what_;
  core::EnvelopePtr message_;  // never null
};

}  // namespace ergon::gen
