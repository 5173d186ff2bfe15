// The run-time identity of a message type: an immutable descriptor per C++ type.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include <ergon/core/foundations/language.h>

namespace ergon::core {

// Two values have the same type exactly when SameType says so of their descriptors. Mostly a type has one descriptor,
// but a plugin and its host have one each, and so has a library that hides its symbols.
struct TypeDescriptor {
  const std::type_info* info;
  std::uint32_t size;            // bytes
  std::uint32_t alignment;       // bytes
  void (*destroy)(void* value);  // null for trivially destructible types
  // What the type calls itself beyond this program: its kTag. Null: it has none.
  std::string_view (*tag)() = nullptr;

  // The hash of the type's name; 0: not computed yet, else with kKnown. Atomic, relaxed, by the compiler's builtins:
  // <atomic> would add 1,600 lines to each file that knows messages.
  mutable std::uint32_t hash = 0;
  static constexpr std::uint32_t kKnown = 1;

  // What logs and errors say of a value; null: the name of its type.
  std::string (*describe)(const void* value) = nullptr;

  // The type's name as written in C++. Any thread.
  [[nodiscard]] std::string Name() const;
  // Its tag, or else its name: for logs, errors and figures, which other programs see. Any thread.
  [[nodiscard]] std::string TagOrName() const;

  [[nodiscard]] std::uint32_t KnownHash() const noexcept {
    return __atomic_load_n(&hash, __ATOMIC_RELAXED);
  }
  // Returns the hash, which is the same for all descriptors of a type. May be called from any thread.
  [[nodiscard]] std::uint32_t Hash() const noexcept {
    const std::uint32_t known = KnownHash();
    return known != 0 ? known : ComputeHash();
  }

 private:
  std::uint32_t ComputeHash() const noexcept;
};

namespace detail {
// Decides what hashes leave open.
[[nodiscard]] bool HaveSameName(const TypeDescriptor& left, const TypeDescriptor& right) noexcept;

template <class T>
inline constexpr void (*kDestroy)(void*) = std::is_trivially_destructible_v<T>
                                               ? nullptr
                                               : static_cast<void (*)(void*)>([](void* value) {
                                                   static_cast<T*>(value)->~T();
                                                 });

// `static constexpr const char* kTag = "count";`
template <class T>
concept Tagged = requires {
  { T::kTag } -> std::convertible_to<std::string_view>;
};
template <class T>
constexpr auto TagFunction() -> std::string_view (*)() {
  if constexpr (Tagged<T>) {
    return []() -> std::string_view { return T::kTag; };
  } else {
    return nullptr;
  }
}

template <class T>
inline constexpr std::string (*kDescribe)(const void*) = [] {
  std::string (*describe)(const void*) = nullptr;
  // Of the library's types: what they hold tells more than their name.
  if constexpr (requires(const T& value) { std::string(value.MessageText()); }) {
    describe = [](const void* value) { return static_cast<const T*>(value)->MessageText(); };
  }
  return describe;
}();

template <class T>
inline const TypeDescriptor kTypeDescriptor{&typeid(T),       sizeof(T), alignof(T),  kDestroy<T>,
                                            TagFunction<T>(), 0,         kDescribe<T>};
}  // namespace detail

// Returns the descriptor of `T` (without const, volatile and reference). May be called from any thread.
template <class T>
[[nodiscard]] const TypeDescriptor* TypeOf() {
  return &detail::kTypeDescriptor<std::remove_cvref_t<T>>;
}

// Returns whether both are of one type; null is the type of nothing. May be called from any thread.
[[nodiscard]] inline bool SameType(const TypeDescriptor* left,
                                   const TypeDescriptor* right) noexcept {
  if (left == right) return true;
  if (left == nullptr || right == nullptr) return false;
  const std::uint32_t one = left->KnownHash();
  const std::uint32_t other = right->KnownHash();
  // Usually both are known, and differ.
  if (one != other && (one & other & TypeDescriptor::kKnown) != 0) [[likely]]
    return false;
  return detail::HaveSameName(*left, *right);
}

// Returns whether it is the type `T`. May be called from any thread.
template <class T>
[[nodiscard]] bool IsType(const TypeDescriptor* type) noexcept {
  return SameType(type, TypeOf<T>());
}

// For tables with types as keys.
struct TypeHash {
  std::size_t operator()(const TypeDescriptor* type) const noexcept { return type->Hash(); }
};
struct TypeEqual {
  bool operator()(const TypeDescriptor* left, const TypeDescriptor* right) const noexcept {
    return SameType(left, right);
  }
};

}  // namespace ergon::core
