// Publish and subscribe: one producer, any number of subscribers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/formatter.h>
#include <ergon/gen/message.h>
#include <ergon/gen/reason.h>

namespace ergon::gen {

// The name of an event on a node. Trivially copyable.
struct Event {
  Atom name;
  Atom node;  // empty: this node

  friend bool operator==(const Event&, const Event&) = default;
  // As in "Event#<prices@demo@localhost>".
  [[nodiscard]] std::string ToString() const;
};

struct EventOptions {
  // The last values, 0..1,000,000, that are kept for those who subscribe later.
  int buffer = 0;
  // The producer gets a MessageEventStart when there is somebody to publish to, and a
  // MessageEventStop when there is nobody any more.
  bool notify = false;
};

// One published value, as a subscriber sees it in HandleEvent. All subscribers share the value, so
// it cannot be changed.
class MessageEvent {
 public:
  MessageEvent(Event event, std::int64_t timestamp, std::shared_ptr<core::Envelope> value)
      : event_(event), timestamp_(timestamp), value_(std::move(value)) {}

  [[nodiscard]] const Event& event() const noexcept { return event_; }
  // When it was published: the clock of the producer's node, nanoseconds.
  [[nodiscard]] std::int64_t timestamp() const noexcept { return timestamp_; }
  // The value, or null when it has another type.
  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return value_->template ValueAs<T>();
  }
  template <class T>
  [[nodiscard]] bool Is() const noexcept {
    return As<T>() != nullptr;
  }
  [[nodiscard]] std::string TypeName() const { return Message(*value_).TypeName(); }
  // For runtimes.
  [[nodiscard]] const core::Envelope& Envelope() const noexcept { return *value_; }

 private:
  Event event_;
  std::int64_t timestamp_;
  std::shared_ptr<core::Envelope> value_;
};

// The event a process had subscribed to is no more: its producer has ended, with this reason, or
// has unregistered it: "event unregistered". Priority high; to HandleMessage.
struct MessageDownEvent {
  Event event;
  Reason reason;
};

// The same as an exit signal, for those who have linked to the event. Like the exit signal of a
// process (MessageExitPID) it reaches HandleMessage only if the process traps exits, otherwise it
// ends it, unless the reason is normal.
struct MessageExitEvent {
  Event event;
  Reason reason;
};

// To the producer of an event that asks for it (EventOptions::notify): the first subscriber has
// come, the last one has gone, by itself or by its end. They alternate, beginning with a start.
// Priority high; to HandleMessage.
struct MessageEventStart {
  Event event;
};
struct MessageEventStop {
  Event event;
};

}  // namespace ergon::gen

template <>
struct fmt::formatter<ergon::gen::Event> : ergon::gen::detail::FormatterOf<ergon::gen::Event> {};
