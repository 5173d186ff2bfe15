// What sanitizers and Valgrind have to be told about fibers. It costs next to nothing without them.
//
// A program may be instrumented while this library is not. So whether a sanitizer is present is found out at run time:
// its functions are weak, and null in a program without it. A sanitizer that does not know of the switch takes a
// fiber's frames for an overflow of the thread's stack.
#pragma once

#include <cstddef>

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

// As in <sanitizer/common_interface_defs.h>, asan_interface.h and tsan_interface.h.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old,
                                                   std::size_t* size_old);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace ergon::core::sanitizers {

// Returns whether the program is instrumented, and has a sanitizer's handlers for signals.
inline bool Present() {
  return __sanitizer_start_switch_fiber != nullptr || __tsan_create_fiber != nullptr;
}

// Instrumented frames are larger, so stacks are too.
inline std::size_t StackFactor() { return Present() ? 2 : 1; }

// Returns TSan's identity of a new fiber; CurrentThreadFiber that of the calling thread's own. Null without TSan.
inline void* CreateFiber() {
  return __tsan_create_fiber != nullptr ? __tsan_create_fiber(0) : nullptr;
}

inline void* CurrentThreadFiber() {
  return __tsan_get_current_fiber != nullptr ? __tsan_get_current_fiber() : nullptr;
}

// The fiber is suspended and never runs again; its stack is about to be unmapped.
inline void DestroyFiber(void* tsan_fiber, void* stack, std::size_t stack_bytes) {
  if (tsan_fiber != nullptr) __tsan_destroy_fiber(tsan_fiber);
  // Frames that never returned leave their red zones in the shadow; the next user of these addresses must not inherit
  // them.
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(stack, stack_bytes);
}

// Right before the jump. `fake_stack` keeps ASan's fake stack of the fiber that is left.
inline void StartSwitch(void** fake_stack, const void* to_stack, std::size_t to_bytes,
                        void* to_tsan) {
  if (__sanitizer_start_switch_fiber != nullptr) [[unlikely]] {
    __sanitizer_start_switch_fiber(fake_stack, to_stack, to_bytes);
  }
  if (to_tsan != nullptr) [[unlikely]]
    __tsan_switch_to_fiber(to_tsan, 0);
}

// First thing after the jump. Returns whether the sanitizer has told the bounds of the stack that was left.
inline bool FinishSwitch(void* fake_stack, const void** from_stack, std::size_t* from_bytes) {
  if (__sanitizer_finish_switch_fiber == nullptr) [[likely]]
    return false;
  __sanitizer_finish_switch_fiber(fake_stack, from_stack, from_bytes);
  return true;
}

// Valgrind takes a jump between two stacks that lie close together for a very large frame, unless it knows the stacks.
// Costs a few instructions, without effect outside of Valgrind.
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
