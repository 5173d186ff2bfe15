// The run-time identity of a message type: one immutable descriptor per C++ type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <ergon/core/foundations/language.h>

namespace ergon::core {

// Two values have the same type exactly when their descriptors have the same address.
struct TypeDescriptor {
  const std::type_info* info;
  std::uint32_t size;            // bytes
  std::uint32_t alignment;       // bytes
  void (*destroy)(void* value);  // null for trivially destructible types

  // The type's name as written in C++, for logs and errors. Any thread.
  [[nodiscard]] std::string Name() const;
};

namespace detail {
template <class T>
inline constexpr void (*kDestroy)(void*) = std::is_trivially_destructible_v<T>
                                               ? nullptr
                                               : static_cast<void (*)(void*)>([](void* value) {
                                                   static_cast<T*>(value)->~T();
                                                 });

template <class T>
inline const TypeDescriptor kTypeDescriptor{&typeid(T), sizeof(T), alignof(T), kDestroy<T>};
}  // namespace detail

// The descriptor of `T` (without const, volatile and reference). Any thread.
template <class T>
[[nodiscard]] const TypeDescriptor* TypeOf() {
  return &detail::kTypeDescriptor<std::remove_cvref_t<T>>;
}

}  // namespace ergon::core
