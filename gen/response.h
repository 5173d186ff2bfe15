// Answers to requests: how the envelope of an answer is made, and the outcome of a Request as HandleResponse sees it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/error.h>
#include <ergon/gen/message.h>
#include <ergon/gen/result.h>

namespace ergon::gen {

// A request that names the type of its answer:
//
//   struct Thumbnail {
//     using Reply = ThumbnailDone;
//     std::string path;
//   };
template <class T>
concept TypedRequest = requires {
  typename std::decay_t<T>::Reply;
};
template <TypedRequest T>
using ReplyOf = typename std::decay_t<T>::Reply;

// Stands for the type of an answer that a call does not name: the request names it.
struct NamedByRequest {};

namespace detail {
template <class T, class R>
struct Answer {
  using Type = R;
};
template <class T>
struct Answer<T, NamedByRequest> {
  static_assert(
      TypedRequest<T>,
      "this request does not name its Reply: write Call<R>(...), or give it a type Reply");
  using Type = ReplyOf<T>;
};
}  // namespace detail

// The type of the answer to a request of type T that was called with R.
template <class T, class R>
using AnswerOf = typename detail::Answer<T, R>::Type;

namespace detail {
core::EnvelopePtr MakeErrorResponse(Error error);
template <class T>
struct Unwrapped {
  using Type = T;
};
template <class T>
struct Unwrapped<Result<T>> {
  static_assert(!std::is_void_v<T>, "an answer has a value: answer true, or the error");
  using Type = T;
};
// The type of the answer that a handler's value makes: for a Result the type of its value.
template <class T>
using UnwrappedType = typename Unwrapped<StoredType<T>>::Type;
// An Error is sent as the error that the Call returns; a Result as its value or its error.
template <class T>
core::EnvelopePtr MakeResponse(T&& value) {
  if constexpr (std::is_same_v<StoredType<T>, Error>) {
    return MakeErrorResponse(std::forward<T>(value));
  } else if constexpr (!std::is_same_v<StoredType<T>, UnwrappedType<T>>) {
    if (!value) return MakeErrorResponse(std::forward<T>(value).error());
    return MakeResponse(*std::forward<T>(value));
  } else {
    return core::MakeEnvelope<StoredType<T>>(static_cast<std::uint8_t>(EnvelopeKind::kResponse),
                                             core::Lane::kMain, std::forward<T>(value));
  }
}

// Returns the error for an answer that is not of type `wanted`: kUnexpectedType, naming both types.
Error UnexpectedType(const core::Envelope& response, const core::TypeDescriptor& wanted);
// An integer of another node arrives as a std::int64_t, whatever type it had there: any integer type that holds it may
// take it.
template <class R>
inline constexpr bool kIsNarrowInteger =
    std::is_integral_v<R> && !std::is_same_v<R, bool> && !std::is_same_v<R, std::int64_t>;
// Returns the integer in an answer if it lies between `least` and `most`, or kUnexpectedType.
Result<std::int64_t> TakeInteger(core::Envelope& response, const core::TypeDescriptor& wanted,
                                 std::int64_t least, std::uint64_t most);
template <class R>
Result<R> TakeResponse(core::Envelope& response) {
  if (R* value = response.ValueAs<R>()) return std::move(*value);
  if constexpr (kIsNarrowInteger<R>) {
    using Limits = std::numeric_limits<R>;
    const auto integer =
        TakeInteger(response, *core::TypeOf<R>(), static_cast<std::int64_t>(Limits::min()),
                    static_cast<std::uint64_t>(Limits::max()));
    if (!integer) return integer.error();
    return static_cast<R>(*integer);
  } else {
    return UnexpectedType(response, *core::TypeOf<R>());
  }
}
// The same, of a response that may also be the error.
template <class R>
Result<R> TakeAnswer(core::Envelope& response) {
  if (response.kind == static_cast<std::uint8_t>(EnvelopeKind::kError)) [[unlikely]]
    return std::move(*response.ValueAs<Error>());
  return TakeResponse<R>(response);
}
}  // namespace detail

// A view of the answer or the error; valid until the handler returns.
//
//   auto price = response.Take<int>();            // as the result of Call<int>
//   if (!price) Log().Warning("no price: {}", price.error());
class Response {
 public:
  // `taken`, which outlives this, becomes true when Take has moved the answer out.
  explicit Response(core::Envelope& envelope, bool* taken = nullptr)
      : envelope_(&envelope), taken_(taken) {}

  // Returns true if there is an answer, false if there is an error().
  [[nodiscard]] bool ok() const noexcept { return !core::IsType<Error>(envelope_->type); }
  // Returns the error that Call would have returned: kTimeout, kProcessTerminated, or what the process answered with.
  // Throws std::logic_error if there is an answer.
  [[nodiscard]] const Error& error() const;

  template <class T>
  [[nodiscard]] bool Is() const noexcept {
    return core::IsType<T>(envelope_->type);
  }
  // Returns the answer, or null if it has another type or there is none.
  template <class T>
  [[nodiscard]] T* As() noexcept {
    return envelope_->template ValueAs<T>();
  }
  // Moves the answer out and returns it, or the error; kUnexpectedType, naming both types, if the answer has another
  // type.
  template <class T>
  [[nodiscard]] Result<T> Take() {
    if (!ok()) return error();
    Result<T> answer = detail::TakeResponse<T>(*envelope_);
    if (answer && taken_ != nullptr) *taken_ = true;
    return answer;
  }

  // Returns what the answer's type calls itself, as Message::TypeName does.
  [[nodiscard]] std::string TypeName() const { return Message(*envelope_).TypeName(); }

  [[nodiscard]] core::Envelope& envelope() const noexcept { return *envelope_; }

 private:
  core::Envelope* envelope_;
  bool* taken_;
};

}  // namespace ergon::gen
