#include <ergon/node/current_process.h>

namespace ergon::node {
namespace {
constinit thread_local Process* current_process = nullptr;
}  // namespace

// The clobber keeps the compiler from merging two calls around a switch of fibers.
__attribute__((noinline)) Process* CurrentProcess() noexcept {
  asm volatile("" ::: "memory");
  return current_process;
}

__attribute__((noinline)) void SetCurrentProcess(Process* process) noexcept {
  asm volatile("" ::: "memory");
  current_process = process;
}

}  // namespace ergon::node
