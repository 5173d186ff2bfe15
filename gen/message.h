// A received message, as a handler sees it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/priority.h>
#include <ergon/gen/target.h>
#include <ergon/gen/trace.h>

namespace ergon::gen {

// Thrown by Message::Take when the message has another type.
class BadMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A view of the value being handled. It is valid until the handler returns or has forwarded the message. Only for the
// process that handles it.
class Message {
 public:
  explicit Message(core::Envelope& envelope) : envelope_(&envelope) {}

  // Returns false when the message has been forwarded: then it belongs to another process.
  explicit operator bool() const noexcept { return envelope_ != nullptr; }

  template <class T>
  [[nodiscard]] bool Is() const noexcept {
    return envelope_ != nullptr && core::IsType<T>(envelope_->type);
  }
  // Returns the value, or null if it has another type.
  template <class T>
  [[nodiscard]] T* As() noexcept {
    return envelope_ == nullptr ? nullptr : envelope_->template ValueAs<T>();
  }
  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return envelope_ == nullptr ? nullptr : envelope_->template ValueAs<T>();
  }
  // Moves the value out. Throws BadMessage, which names both types, when it has another one.
  template <class T>
  [[nodiscard]] T Take() {
    T* value = As<T>();
    if (value == nullptr) ThrowBadMessage(*core::TypeOf<T>());
    taken_ = true;
    return std::move(*value);
  }

  // Returns what the type calls itself: its kTag, or if it has none its name as written in C++; "nothing" without a
  // value.
  [[nodiscard]] std::string TypeName() const;
  // Returns what the message is, for logs and errors: TypeName; for types that need no registration (integer, double,
  // bool, atom, PID, any term of Erlang) the value, shortened; for a std::string only its length.
  [[nodiscard]] std::string Describe() const;

  // Returns whether Take has moved the value out.
  [[nodiscard]] bool taken() const noexcept { return taken_; }

  // -- for behaviours --

  // Returns the envelope. Only if the message has not been forwarded.
  [[nodiscard]] core::Envelope& envelope() const noexcept { return *envelope_; }
  // Notes that the message has been passed on: nothing of it is left here.
  void Clear() noexcept { envelope_ = nullptr; }

 private:
  // Returns whether Describe shows more than the type's name.
  [[nodiscard]] bool HasWords() const noexcept;
  [[nodiscard]] std::string Words() const;
  [[noreturn]] void ThrowBadMessage(const core::TypeDescriptor& wanted) const;

  core::Envelope* envelope_;
  bool taken_ = false;
};

namespace detail {
// For the runtime: while this lives, an OwnedMessage that is destroyed on this thread puts its message into a list.
class LeftMessages {
 public:
  explicit LeftMessages(std::vector<core::EnvelopePtr>& list) noexcept;
  LeftMessages(const LeftMessages&) = delete;
  LeftMessages& operator=(const LeftMessages&) = delete;
  ~LeftMessages();
  static void Take(core::EnvelopePtr envelope) noexcept;  // frees it where none lives

 private:
  std::vector<core::EnvelopePtr>* const former_;
};
}  // namespace detail

// A message that owns its value, for notices that carry another message. Move-only.
class OwnedMessage {
 public:
  OwnedMessage() = default;
  explicit OwnedMessage(core::EnvelopePtr envelope) : envelope_(std::move(envelope)) {}
  OwnedMessage(OwnedMessage&&) noexcept = default;
  OwnedMessage& operator=(OwnedMessage&& other) noexcept {
    if (this == &other) return *this;
    const OwnedMessage former(std::exchange(envelope_, std::move(other.envelope_)));
    return *this;
  }
  ~OwnedMessage() {
    if (envelope_ != nullptr) detail::LeftMessages::Take(std::move(envelope_));
  }

  explicit operator bool() const noexcept { return envelope_ != nullptr; }
  // Returns a view of the message, which must not be empty.
  [[nodiscard]] Message View() const { return Message(*envelope_); }
  // Gives the envelope away; this is empty afterwards.
  [[nodiscard]] core::EnvelopePtr Release() noexcept { return std::move(envelope_); }

 private:
  core::EnvelopePtr envelope_;
};

namespace detail {
template <class T>
struct Stored {
  using Type = std::conditional_t<std::is_same_v<std::decay_t<T>, const char*> ||
                                      std::is_same_v<std::decay_t<T>, char*>,
                                  std::string, std::decay_t<T>>;
  static_assert(!std::is_same_v<Type, std::string_view>,
                "a std::string_view does not own its text: send a std::string");
  static_assert(!std::is_array_v<std::remove_reference_t<T>> || std::is_same_v<Type, std::string>,
                "an array would be sent as a pointer to it: send a std::array or a std::vector");
  static_assert(std::is_move_constructible_v<Type>,
                "a message must be movable: it is moved into the receiver's mailbox");
  static_assert(!std::is_move_constructible_v<Type> || std::is_constructible_v<Type, T>,
                "this message cannot be copied: give it away with std::move");
};
}  // namespace detail

// How a value is stored in a message: text literals as std::string, everything else as it is.
template <class T>
using StoredType = typename detail::Stored<T>::Type;

namespace detail {
template <class T>
core::EnvelopePtr MakeMessage(T&& value, MessagePriority priority) {
  return core::MakeEnvelope<StoredType<T>>(static_cast<std::uint8_t>(EnvelopeKind::kMessage),
                                           static_cast<core::Lane>(priority),
                                           std::forward<T>(value));
}
template <class T>
core::EnvelopePtr MakeMessage(T&& value, MessagePriority priority, const Target& to,
                              TraceId trace = 0) {
  return core::MakeEnvelopeWith<StoredType<T>>(
      {.tag = to.Tag(), .trace = trace}, static_cast<std::uint8_t>(EnvelopeKind::kMessage),
      static_cast<core::Lane>(priority), std::forward<T>(value));
}

// Moves the value of a refused message back to where it came from.
template <class T>
void GiveBack(core::EnvelopePtr& refused, std::remove_reference_t<T>& value) {
  using Value = std::remove_reference_t<T>;
  if constexpr (!std::is_reference_v<T> && !std::is_const_v<Value> &&
                std::is_same_v<Value, StoredType<T>>) {
    if (refused == nullptr) return;
    Value& kept = *static_cast<Value*>(refused->Value());
    if constexpr (std::is_move_assignable_v<Value>) {
      value = std::move(kept);
    } else if constexpr (std::is_nothrow_move_constructible_v<Value>) {  // it has a const member
      std::destroy_at(&value);
      std::construct_at(&value, std::move(kept));
    }
  }
}
}  // namespace detail

}  // namespace ergon::gen
