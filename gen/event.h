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
#include <ergon/gen/trace.h>

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
  // How many of the last values are kept for processes that subscribe later, 0..1,000,000.
  int buffer = 0;
  // Sends the producer a MessageEventStart when there is a subscriber to publish to, and a MessageEventStop when there
  // is none any more.
  bool notify = false;
};

// One published value, as a subscriber sees it in HandleEvent. All subscribers share the value, so
// it cannot be changed.
class MessageEvent {
 public:
  MessageEvent(Event event, std::int64_t timestamp, std::shared_ptr<core::Envelope> value)
      : event_(event), timestamp_(timestamp), value_(std::move(value)) {}

  [[nodiscard]] const Event& event() const noexcept { return event_; }
  // Returns when the value was published, in nanoseconds of the clock of the producer's node.
  [[nodiscard]] std::int64_t timestamp() const noexcept { return timestamp_; }
  // Returns the trace id with which the value was published (trace.h); 0: none. Needed only for values that
  // MonitorEvent and LinkEvent return; in HandleEvent the process itself has this trace id.
  [[nodiscard]] TraceId Trace() const noexcept { return TraceOf(*value_); }
  // Returns the value, or null if it has another type.
  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return value_->template ValueAs<T>();
  }
  template <class T>
  [[nodiscard]] bool Is() const noexcept {
    return As<T>() != nullptr;
  }
  // Returns what the value's type calls itself, as Message::TypeName does.
  [[nodiscard]] std::string TypeName() const { return Message(*value_).TypeName(); }
  // For runtimes.
  [[nodiscard]] const core::Envelope& Envelope() const noexcept { return *value_; }

 private:
  Event event_;
  std::int64_t timestamp_;
  std::shared_ptr<core::Envelope> value_;
};

// An event that the process had subscribed to has ended: its producer has ended, with this reason, or has unregistered
// it, with the reason "event unregistered". Priority high; to HandleMessage.
struct MessageDownEvent {
  Event event;
  Reason reason;
};

// The same as an exit signal, for processes that have linked to the event. As with the exit signal of a process
// (MessageExitPID), it reaches HandleMessage only if the process traps exits; otherwise it ends the process, unless the
// reason is normal.
struct MessageExitEvent {
  Event event;
  Reason reason;
};

// Sent to the producer of an event that asks for it (EventOptions::notify): the first subscriber has come; or the last
// one has gone, by itself or by its end. The two alternate, beginning with a start. Priority high; to HandleMessage.
struct MessageEventStart {
  Event event;
};
struct MessageEventStop {
  Event event;
};

}  // namespace ergon::gen

template <>
struct fmt::formatter<ergon::gen::Event> : ergon::gen::detail::FormatterOf<ergon::gen::Event> {};
