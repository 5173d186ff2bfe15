// The sizes of envelopes, and their classes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::core {

inline constexpr std::size_t kEnvelopeAlignment = 64;  // bytes; of every envelope's start

// Returns the class of blocks for this many bytes; 0: none, such envelopes are allocated otherwise.
inline constexpr std::size_t kEnvelopeClasses = 8;  // blocks of 64, 128, ... 512 bytes
constexpr std::uint8_t EnvelopeClassOf(std::size_t bytes) noexcept {
#if ERGON_ASAN || ERGON_TSAN
  (void)bytes;  // each has its own size
  return 0;
#else
  const std::size_t blocks = (bytes + kEnvelopeAlignment - 1) / kEnvelopeAlignment;
  return static_cast<std::uint8_t>(blocks > kEnvelopeClasses ? 0 : blocks);
#endif
}

}  // namespace ergon::core
