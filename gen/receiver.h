// What a process that is made of a function waits for: see Process::Receive.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_sender.h>
#include <ergon/gen/message.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>

namespace ergon::gen {

// A message of type T, and its sender.
template <class T>
struct SentBy {
  PID from;
  T value;
};

// A request of type T. Its caller waits for Process::Reply; if this process ends without an answer, the caller gets an
// error.
template <class T>
struct Asked {
  PID from;
  Ref ref;
  T value;
};

// A message, notice or request of any type, without its value. For messages that no other Receive wants, which would
// wait until the process ends. A request still waits for its answer.
struct OtherMessage {
  PID from;
  std::optional<Ref> request = std::nullopt;  // for Process::SendResponse; empty: no request
  std::string type = {};                      // what its type calls itself: see Message::TypeName
};

// One Receive: which message it wants, and where the value goes.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Returns whether the envelope is a message, an event, a notice, an exit signal or a request: what a Receive may
  // want. Other kinds are the runtime's, or outcomes of Process::Request.
  [[nodiscard]] static bool MayWant(const core::Envelope& envelope) noexcept;
  // Returns whether this Receive wants an envelope that it may want.
  [[nodiscard]] virtual bool Wants(const core::Envelope& envelope) const noexcept = 0;
  // Takes the value out of an envelope that this Receive wants.
  void TakeFrom(core::Envelope& envelope) {
    TakeValue(envelope);
    has_taken_ = true;
  }
  [[nodiscard]] bool HasTaken() const noexcept { return has_taken_; }

 private:
  virtual void TakeValue(core::Envelope& envelope) = 0;
  bool has_taken_ = false;
};

namespace detail {

struct AwaitTask {
};  // the request of a task's owner, which waits until the task's function has returned

// Makes the value that Receive returns from an envelope.
template <class T>
struct Received {
  static_assert(std::is_same_v<T, StoredType<T>>, "Receive: no message has this type");
  static bool IsIn(const core::Envelope& envelope) noexcept {
    return !IsRequest(envelope) && core::IsType<T>(envelope.type);
  }
  static T From(core::Envelope& envelope) { return std::move(*envelope.ValueAs<T>()); }
};
template <class T>
struct Received<SentBy<T>> {
  static bool IsIn(const core::Envelope& envelope) noexcept { return Received<T>::IsIn(envelope); }
  static SentBy<T> From(core::Envelope& envelope) {
    return {SenderOf(envelope), std::move(*envelope.ValueAs<T>())};
  }
};
template <class T>
struct Received<Asked<T>> {
  static bool IsIn(const core::Envelope& envelope) noexcept {
    return IsRequest(envelope) && core::IsType<T>(envelope.type);
  }
  static Asked<T> From(core::Envelope& envelope) {
    return {SenderOf(envelope), RefOf(envelope), std::move(*envelope.ValueAs<T>())};
  }
};
template <>
struct Received<OtherMessage> {
  static bool IsIn(const core::Envelope& envelope) noexcept {
    return !Received<Asked<AwaitTask>>::IsIn(envelope);
  }
  static OtherMessage From(core::Envelope& envelope);
};

template <class... T>
struct ReceivedAs {
  using Type = std::variant<T...>;
};
template <class T>
struct ReceivedAs<T> {
  using Type = T;
};

template <class... T>
class ReceiverOf final : public Receiver {
 public:
  using Value = typename ReceivedAs<T...>::Type;

  [[nodiscard]] bool Wants(const core::Envelope& envelope) const noexcept override {
    return (Received<T>::IsIn(envelope) || ...);
  }
  // Returns the value that was taken. Only after HasTaken.
  [[nodiscard]] Value& value() { return *value_; }

 private:
  void TakeValue(core::Envelope& envelope) override {
    (void)((Received<T>::IsIn(envelope) && (value_.emplace(Received<T>::From(envelope)), true)) ||
           ...);
  }

  std::optional<Value> value_;
};

}  // namespace detail

}  // namespace ergon::gen
