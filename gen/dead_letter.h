// Dropped messages as an event.
#pragma once

#include <string_view>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/dropped_message.h>

namespace ergon::gen {

// The event that each node itself produces: MonitorEvent({kDeadLetters, {}}). Its values are of type DeadLetter, one
// for each message, request or event that is dropped from then on: because its receiver has ended or has no room, or
// because a delayed send finds no receiver. There is none for failures that the sender learns by an error; for requests
// and timers whose time was up; for what was lost with a connection; and for dead letters themselves, and the messages
// that those drop. All of these are counted in any case (Node::Info). Without subscribers the event costs nothing.
inline constexpr std::string_view kDeadLetters = "dead_letters";

class DeadLetter {
 public:
  DeadLetter(DroppedMessage what, core::EnvelopePtr message)
      : what_(std::move(what)), message_(std::move(message)) {}

  // Returns the sender, the receiver, the message's type, the time and the reason. The sender of a request got the same
  // error.
  [[nodiscard]] const DroppedMessage& what() const noexcept { return what_; }
  // Returns the message's value, or null if it has another type. All subscribers share it.
  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return message_->template ValueAs<T>();
  }

 private:
  DroppedMessage what_;
  core::EnvelopePtr message_;  // never null
};

}  // namespace ergon::gen
