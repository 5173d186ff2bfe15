// Which sanitizer this is built with, and the calls that tell it about fibers (no-ops without one).
#pragma once

#include <cstddef>

// ERGON_ASAN and ERGON_TSAN are always defined, as 0 or 1.
#if defined(__SANITIZE_ADDRESS__)
#define ERGON_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ERGON_ASAN 1
#endif
#endif
#ifndef ERGON_ASAN
#define ERGON_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define ERGON_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ERGON_TSAN 1
#endif
#endif
#ifndef ERGON_TSAN
#define ERGON_TSAN 0
#endif

// Likewise: where Valgrind is installed, its requests cost next to nothing and need no library.
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#define ERGON_VALGRIND 1
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef ERGON_VALGRIND
#define ERGON_VALGRIND 0
#endif

#if ERGON_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if ERGON_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace ergon::core::sanitizers {

// Instrumented frames are larger, so stacks are too.
inline constexpr std::size_t kStackFactor = ERGON_ASAN || ERGON_TSAN ? 2 : 1;

// TSan's identity of a fiber; of the calling thread's own for `CurrentThreadFiber`.
inline void* CreateFiber() {
#if ERGON_TSAN
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}

inline void* CurrentThreadFiber() {
#if ERGON_TSAN
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}

// The fiber is suspended and never runs again; its stack is about to be unmapped.
inline void DestroyFiber([[maybe_unused]] void* tsan_fiber, [[maybe_unused]] void* stack,
                         [[maybe_unused]] std::size_t stack_bytes) {
#if ERGON_TSAN
  __tsan_destroy_fiber(tsan_fiber);
#endif
#if ERGON_ASAN
  // Frames that never returned leave their red zones in the shadow; whoever gets these addresses
  // next must not inherit them.
  __asan_unpoison_memory_region(stack, stack_bytes);
#endif
}

// Right before the jump. `fake_stack` keeps ASan's fake stack of the fiber that is left.
inline void StartSwitch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* to_stack,
                        [[maybe_unused]] std::size_t to_bytes, [[maybe_unused]] void* to_tsan) {
#if ERGON_ASAN
  __sanitizer_start_switch_fiber(fake_stack, to_stack, to_bytes);
#endif
#if ERGON_TSAN
  __tsan_switch_to_fiber(to_tsan, 0);
#endif
}

// First thing after the jump; reports the bounds of the stack that was left (0 without ASan).
inline void FinishSwitch([[maybe_unused]] void* fake_stack, const void** from_stack,
                         std::size_t* from_bytes) {
  *from_stack = nullptr;
  *from_bytes = 0;
#if ERGON_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, from_stack, from_bytes);
#endif
}

// Valgrind takes a jump between two stacks that lie close together for a very large frame, unless it
// knows them. A few instructions without effect outside of it.
inline unsigned RegisterStack([[maybe_unused]] const void* stack,
                              [[maybe_unused]] std::size_t stack_bytes) {
#if ERGON_VALGRIND
  return VALGRIND_STACK_REGISTER(stack, static_cast<const char*>(stack) + stack_bytes - 1);
#else
  return 0;
#endif
}

inline void DeregisterStack([[maybe_unused]] unsigned id) {
#if ERGON_VALGRIND
  VALGRIND_STACK_DEREGISTER(id);
#endif
}

}  // namespace ergon::core::sanitizers
