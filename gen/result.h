// A value or an error: tl::expected with an error text that survives `value()`, and with checks: a value that is not
// there cannot be reached.
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include <ergon/gen/bad_result.h>
#include <ergon/gen/error.h>
#include <ergon/gen/result_steps.h>

namespace ergon::gen {

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;

 public:
  using Base::Base;
  Result(Error error)  // NOLINT(google-explicit-constructor): `return error;`
      : Base(tl::unexpected<Error>(std::move(error))) {}

  Result(const Result&) = default;
  Result& operator=(const Result&) = default;
  Result(Result&&) = default;             // NOLINT(performance-noexcept-move-constructor): as T's
  Result& operator=(Result&&) = default;  // NOLINT(performance-noexcept-move-constructor)
  ~Result() = default;
  // Copying, moving and assigning throw what those of T throw. Then the target is as T's assignment has left it or, if
  // it had an error, as before. Those of tl::expected would end the program.
  Result(const Result& other) requires(std::is_copy_constructible_v<T> &&
                                       !std::is_nothrow_copy_constructible_v<T>)
      : Base(BeginAs(other)) {
    if (other.has_value()) BecomeValue(static_cast<const Base&>(other));
  }
  Result(Result&& other) requires(std::is_move_constructible_v<T> &&  // NOLINT(performance-*)
                                  !std::is_nothrow_move_constructible_v<T>)
      : Base(BeginAs(other)) {
    if (other.has_value()) BecomeValue(static_cast<Base&&>(other));
  }
  Result& operator=(const Result& other) requires(
      std::is_copy_constructible_v<T>&& std::is_copy_assignable_v<T> &&
      !(std::is_nothrow_copy_constructible_v<T> && std::is_nothrow_copy_assignable_v<T>)) {
    if (this == &other) return *this;
    if (this->has_value() && other.has_value()) {
      Base::operator*() = *static_cast<const Base&>(other);
    } else if (other.has_value()) {
      BecomeValue(static_cast<const Base&>(other));
    } else {
      BecomeError(Error(other.error()));
    }
    return *this;
  }
  Result& operator=(Result&& other) requires(  // NOLINT(performance-*)
      std::is_move_constructible_v<T>&& std::is_move_assignable_v<T> &&
      !(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>)) {
    if (this == &other) return *this;
    if (this->has_value() && other.has_value()) {
      Base::operator*() = std::move(*static_cast<Base&>(other));
    } else if (other.has_value()) {
      BecomeValue(static_cast<Base&&>(other));
    } else {
      BecomeError(std::move(other).error());
    }
    return *this;
  }

  // Returns the value. Throws BadResult if there is none. A temporary result returns it by value, so that `for (auto&
  // [key, text] : node.Inspect(pid).value())` iterates over something that lives.
  T& value() & { return **this; }
  const T& value() const& { return **this; }
  T value() && { return *std::move(*this); }
  // The same, checked in the same way.
  T& operator*() & {
    Check();
    return Base::operator*();
  }
  const T& operator*() const& {
    Check();
    return Base::operator*();
  }
  T operator*() && {
    Check();
    return std::move(*this).Base::operator*();
  }
  // The pointer is valid as long as the result: do not iterate over a member of a temporary's value.
  T* operator->() {
    Check();
    return Base::operator->();
  }
  const T* operator->() const {
    Check();
    return Base::operator->();
  }
  // Returns what the function makes of the value, in a Result (map) or as its own Result (and_then); or the error.
  template <class F>
  auto map(F&& function) & {
    return detail::MapResult(*this, std::forward<F>(function));
  }
  template <class F>
  auto map(F&& function) const& {
    return detail::MapResult(*this, std::forward<F>(function));
  }
  template <class F>
  auto map(F&& function) && {
    return detail::MapResult(std::move(*this), std::forward<F>(function));
  }
  template <class F>
  auto and_then(F&& function) & {
    return detail::ThenResult(*this, std::forward<F>(function));
  }
  template <class F>
  auto and_then(F&& function) const& {
    return detail::ThenResult(*this, std::forward<F>(function));
  }
  template <class F>
  auto and_then(F&& function) && {
    return detail::ThenResult(std::move(*this), std::forward<F>(function));
  }
  // Returns this result if it has a value. Otherwise calls the function with the error and returns the Result that the
  // function returns; if the function returns nothing, returns this result.
  template <class F>
  Result or_else(F&& function) const& {
    return detail::ElseResult(*this, std::forward<F>(function));
  }
  template <class F>
  Result or_else(F&& function) && {
    return detail::ElseResult(std::move(*this), std::forward<F>(function));
  }
  // Returns the error, of a temporary result by value. Throws std::logic_error if there is a value.
  [[nodiscard]] Error& error() & {
    if (this->has_value()) [[unlikely]]
      ThrowHasNoError();
    return Base::error();
  }
  [[nodiscard]] const Error& error() const& {
    if (this->has_value()) [[unlikely]]
      ThrowHasNoError();
    return Base::error();
  }
  [[nodiscard]] Error error() && {
    if (this->has_value()) [[unlikely]]
      ThrowHasNoError();
    return std::move(*this).Base::error();
  }

 private:
  // Returns the error of `other`, or one that its value will replace.
  static tl::unexpected<Error> BeginAs(const Base& other) {
    return tl::unexpected<Error>(other.has_value() ? Error(ErrorCode::kInternal) : other.error());
  }
  // Replaces an error by a value. If that throws, the error is there again.
  template <class From>
  void BecomeValue(From&& from) {
    Base* const base = this;
    Error before = std::move(Base::error());
    std::destroy_at(base);
    try {
      ::new (static_cast<void*>(base)) Base(tl::in_place, *std::forward<From>(from));
    } catch (...) {
      ::new (static_cast<void*>(base)) Base(tl::unexpected<Error>(std::move(before)));
      throw;
    }
  }
  void BecomeError(Error error) noexcept {
    Base* const base = this;
    std::destroy_at(base);
    ::new (static_cast<void*>(base)) Base(tl::unexpected<Error>(std::move(error)));
  }
  void Check() const {
    if (!this->has_value()) [[unlikely]]
      ThrowBadResult(Base::error());
  }
};

template <>
class [[nodiscard]] Result<void> : public tl::expected<void, Error> {
  using Base = tl::expected<void, Error>;

 public:
  using Base::Base;
  Result(Error error)  // NOLINT(google-explicit-constructor): `return error;`
      : Base(tl::unexpected<Error>(std::move(error))) {}

  // As those of other results, with functions that take nothing, or the error.
  template <class F>
  auto map(F&& function) const {
    return detail::MapResult(*this, std::forward<F>(function));
  }
  template <class F>
  auto and_then(F&& function) const {
    return detail::ThenResult(*this, std::forward<F>(function));
  }
  template <class F>
  Result or_else(F&& function) const {
    return detail::ElseResult(*this, std::forward<F>(function));
  }
  // Does nothing. Throws BadResult if there is an error.
  void value() const {
    if (!has_value()) [[unlikely]]
      ThrowBadResult(Base::error());
  }
  // Returns the error. Throws std::logic_error if there is none.
  [[nodiscard]] Error& error() & {
    if (has_value()) [[unlikely]]
      ThrowHasNoError();
    return Base::error();
  }
  [[nodiscard]] const Error& error() const& {
    if (has_value()) [[unlikely]]
      ThrowHasNoError();
    return Base::error();
  }
  [[nodiscard]] Error error() && {
    if (has_value()) [[unlikely]]
      ThrowHasNoError();
    return std::move(*this).Base::error();
  }
};

}  // namespace ergon::gen
