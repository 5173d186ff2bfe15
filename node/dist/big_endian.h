// Numbers on the wire, the highest byte first.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ergon::dist {
namespace detail {

// Without a loop compilers make one instruction of it.
template <std::unsigned_integral T, std::size_t... kIndex>
void WriteBytes(char* to, T value, std::index_sequence<kIndex...>) noexcept {
  ((to[kIndex] = static_cast<char>(value >> (8 * (sizeof(T) - 1 - kIndex)))), ...);
}
template <std::unsigned_integral T, std::size_t... kIndex>
T ReadBytes(const char* from, std::index_sequence<kIndex...>) noexcept {
  return static_cast<T>((... | (std::uint64_t{static_cast<unsigned char>(from[kIndex])}
                                << (8 * (sizeof(T) - 1 - kIndex)))));
}

}  // namespace detail

// Writes all bytes of `value` to `to`.
template <std::unsigned_integral T>
void WriteBigEndian(char* to, T value) noexcept {
  detail::WriteBytes(to, value, std::make_index_sequence<sizeof(T)>());
}

template <std::unsigned_integral T>
void AppendBigEndian(std::string& out, T value) {
  char bytes[sizeof(T)];
  WriteBigEndian(bytes, value);
  out.append(bytes, sizeof(T));
}

// The number at the front of `bytes`, which has to be as long as that.
template <std::unsigned_integral T>
[[nodiscard]] T ReadBigEndian(std::string_view bytes) noexcept {
  return detail::ReadBytes<T>(bytes.data(), std::make_index_sequence<sizeof(T)>());
}

}  // namespace ergon::dist
