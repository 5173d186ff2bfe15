#include <ergon/gen/blocking.h>

#include <atomic>

namespace ergon::gen {
namespace {
std::atomic<const BlockingRuntime*> blocking_runtime{nullptr};
}  // namespace

void SetBlockingRuntime(const BlockingRuntime& runtime) noexcept {
  blocking_runtime.store(&runtime, std::memory_order_release);
}

Blocking::Blocking() noexcept {
  const BlockingRuntime* runtime = blocking_runtime.load(std::memory_order_acquire);
  lent_ = runtime == nullptr ? nullptr : runtime->begin();
}

Blocking::~Blocking() {
  if (lent_ != nullptr) blocking_runtime.load(std::memory_order_acquire)->end(lent_);
}

}  // namespace ergon::gen
