#include <ergon/node/process/current_process.h>

namespace ergon::node {

constinit thread_local ProcessRunner* detail::current_process = nullptr;

// The clobber keeps the compiler from merging two calls around a switch of fibers.
__attribute__((noinline)) ProcessRunner* CurrentProcess() noexcept {
  asm volatile("" ::: "memory");
  return detail::current_process;
}

#if ERGON_ASAN || ERGON_TSAN
__attribute__((noinline)) void SetCurrentProcess(ProcessRunner* process) noexcept {
  asm volatile("" ::: "memory");
  detail::current_process = process;
}
#endif

}  // namespace ergon::node
