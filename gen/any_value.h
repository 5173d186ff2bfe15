// One value of any type, for where types are not known beforehand: arguments of a spawn, values of an environment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/message.h>

namespace ergon::gen {

// A value of any type, or none. All copies share one object, which never changes; a text is a std::string. Copying
// takes a reference count. May be used from any thread.
class AnyValue {
 public:
  AnyValue() = default;
  AnyValue(std::nullopt_t) {}  // NOLINT(google-explicit-constructor)
  template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, AnyValue> &&
                                              !std::is_same_v<std::decay_t<T>, std::string_view> &&
                                              !std::is_same_v<std::decay_t<T>, std::nullopt_t>>>
  AnyValue(T&& value)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : type_(core::TypeOf<StoredType<T>>()),
        value_(std::make_shared<const StoredType<T>>(std::forward<T>(value))) {}
  AnyValue(std::string_view text) : AnyValue(std::string(text)) {}  // NOLINT

  explicit operator bool() const noexcept { return type_ != nullptr; }
  // Returns the value, or null if it has another type.
  template <class T>
  [[nodiscard]] const T* As() const noexcept {
    return core::IsType<T>(type_) ? static_cast<const T*>(value_.get()) : nullptr;
  }
  // Returns a copy of the value; empty if there is none, or it has another type. A std::int64_t, the type of integers
  // from options files, can be read as any integer type that holds its value.
  template <class T>
  [[nodiscard]] std::optional<T> Get() const {
    if (const T* const value = As<T>()) return *value;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const auto* const number = As<std::int64_t>();
      const bool fits =
          number != nullptr && (*number >= 0 || std::is_signed_v<T>)&&static_cast<std::int64_t>(
                                   static_cast<T>(*number)) == *number;
      if (fits) return static_cast<T>(*number);
    }
    return std::nullopt;
  }
  // Returns what the type calls itself: its kTag, or if it has none its name as written in C++; empty: no value.
  [[nodiscard]] std::string TypeName() const {
    return type_ == nullptr ? std::string() : type_->TagOrName();
  }

  // Equal if both are the same object or the same text.
  friend bool operator==(const AnyValue& left, const AnyValue& right) noexcept {
    if (left.value_ == right.value_) return true;
    const auto* text = left.As<std::string>();
    const auto* other = right.As<std::string>();
    return text != nullptr && other != nullptr && *text == *other;
  }

 private:
  const core::TypeDescriptor* type_ = nullptr;
  std::shared_ptr<const void> value_;
};

}  // namespace ergon::gen
