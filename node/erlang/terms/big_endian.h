// Numbers on the wire, the highest byte first.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ergon::dist {
namespace detail {

// The compiler makes one instruction of this. It does not do so for bytes that are shifted one by one.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T Swapped(T value) noexcept {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}

}  // namespace detail

// Writes all bytes of `value` to `to`.
template <std::unsigned_integral T>
void WriteBigEndian(char* to, T value) noexcept {
  const T bytes = detail::Swapped(value);
  std::memcpy(to, &bytes, sizeof(bytes));
}

template <std::unsigned_integral T>
void AppendBigEndian(std::string& out, T value) {
  char bytes[sizeof(T)];
  WriteBigEndian(bytes, value);
  out.append(bytes, sizeof(T));
}

// Returns the number at the front of `bytes`, which must be at least as long as the number.
template <std::unsigned_integral T>
[[nodiscard]] T ReadBigEndian(std::string_view bytes) noexcept {
  T value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return detail::Swapped(value);
}

}  // namespace ergon::dist
