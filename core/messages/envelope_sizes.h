// The sizes of envelopes, and their classes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::core {

inline constexpr std::size_t kEnvelopeAlignment = 64;  // bytes; of every envelope's start

inline constexpr std::size_t kEnvelopeClasses = 8;  // blocks of 64, 128, ... 512 bytes
// Returns the class of blocks for this many bytes. Returns 0 if there is no such class: these envelopes do not come
// from the pool.
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
