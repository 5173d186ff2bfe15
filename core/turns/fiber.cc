#include <atomic>
#include <cstdio>
#include <new>

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ergon/core/turns/fiber.h>
#include <ergon/core/turns/fiber_annotations.h>

namespace ergon::core {
namespace {

// Each stack is two kernel mappings. At the kernel's limit not even malloc gets memory any more, so
// a sixteenth of it is left for others.
std::size_t MaxStacks() {
  std::size_t maps = 65530;  // the kernel's default
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
    unsigned long read = 0;
    if (std::fscanf(file, "%lu", &read) == 1) maps = read;
    std::fclose(file);
  }
  return (maps - maps / 16) / 2;
}

std::atomic<std::size_t> g_stacks{0};

// False if one more stack would be too many for the process.
bool ReserveStack() {
  static const std::size_t kMaxStacks = MaxStacks();
  if (g_stacks.fetch_add(1, std::memory_order_relaxed) < kMaxStacks) return true;
  g_stacks.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void UnreserveStack() { g_stacks.fetch_sub(1, std::memory_order_relaxed); }

std::size_t PageBytes() {
  static const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kPage;
}

}  // namespace

Fiber::Fiber()
    : thread_exceptions_(abi::__cxa_get_globals()), tsan_fiber_(sanitizers::CurrentThreadFiber()) {}

std::unique_ptr<Fiber> Fiber::Create(std::size_t stack_bytes, Body body) {
  if (!ReserveStack()) return nullptr;
  const std::size_t page = PageBytes();
  const auto in_pages = [page](std::size_t size) { return (size + page - 1) / page * page; };
  const std::size_t usable = in_pages(stack_bytes * sanitizers::StackFactor());
  const std::size_t guard = in_pages(kGuardBytes);
  const std::size_t bytes = usable + guard;
  // Not accessible at first: where the kernel lends no memory that it does not have, the guard is
  // not counted as such.
  void* mapping = mmap(nullptr, bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) {
    UnreserveStack();
    return nullptr;
  }
  // Stacks grow down: an overflow runs into what stands first.
  char* const stack = static_cast<char*>(mapping) + guard;
  std::unique_ptr<Fiber> fiber;
  if (mprotect(stack, usable, PROT_READ | PROT_WRITE) == 0) fiber.reset(new (std::nothrow) Fiber);
  if (fiber == nullptr) {
    munmap(mapping, bytes);
    UnreserveStack();
    return nullptr;
  }
  fiber->body_ = body;
  fiber->mapping_ = mapping;
  fiber->mapping_bytes_ = bytes;
  fiber->stack_ = stack;
  fiber->stack_bytes_ = usable;
  fiber->context_ = NewContext(stack + usable, usable);
  fiber->tsan_fiber_ = sanitizers::CreateFiber();
  fiber->valgrind_stack_ = sanitizers::RegisterStack(stack, usable);
  return fiber;
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
  sanitizers::DeregisterStack(valgrind_stack_);
  sanitizers::DestroyFiber(tsan_fiber_, const_cast<void*>(stack_), stack_bytes_);
  munmap(mapping_, mapping_bytes_);
  UnreserveStack();
}

}  // namespace ergon::core
