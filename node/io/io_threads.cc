#include <ergon/node/io/io_threads.h>

namespace ergon::node {
namespace {

thread_local bool is_io_thread = false;

}  // namespace

void BecomeIoThread() noexcept { is_io_thread = true; }

bool IsIoThread() noexcept { return is_io_thread; }

}  // namespace ergon::node
