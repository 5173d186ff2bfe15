// Asks for memory that is needed soon.
#pragma once

namespace ergon::core {

// Has the processor bring a line to be written. The compilers' own prefetch for x86-64 brings it to be read: if another
// core has written it last, the first store has to ask for it once more. Any address may be given, also null.
inline void PrefetchToWrite(const void* address) noexcept {
#if defined(__x86_64__)
  // Processors that do not know it do nothing.
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace ergon::core
