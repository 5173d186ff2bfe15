#include <ergon/node/io/io_threads.h>

namespace ergon::node {
namespace {

thread_local const void* current_io = nullptr;

}  // namespace

void BecomeIoThread(const void* io) noexcept { current_io = io; }

bool IsIoThread() noexcept { return current_io != nullptr; }

bool IsThreadOf(const void* io) noexcept { return current_io == io; }

}  // namespace ergon::node
