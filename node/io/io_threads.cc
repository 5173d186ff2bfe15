#include <ergon/node/io/io_threads.h>

namespace ergon::node {
namespace {

thread_local const void* current_io = nullptr;

}  // namespace

// Not inlined: whoever waits may go on on another thread, and must not keep the address of the former one's variable.
[[gnu::noinline]] void BecomeIoThread(const void* io) noexcept { current_io = io; }

[[gnu::noinline]] bool IsIoThread() noexcept { return current_io != nullptr; }

[[gnu::noinline]] bool IsThreadOf(const void* io) noexcept { return current_io == io; }

}  // namespace ergon::node
