#include <ergon/node/spawning/dedicated_dispatchers.h>

#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/work_sharing.h>

namespace ergon::node {

gen::Result<core::Dispatcher*> DedicatedDispatchers::TakeFree(core::DispatcherOptions options) {
  std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    core::Dispatcher* const dispatcher = free_.back();
    free_.pop_back();
    return dispatcher;
  }
  options.workers = 1;
  options.thread_name = fmt::format("detached{}", all_.size());
  std::unique_ptr<core::Dispatcher> dispatcher = core::MakeWorkSharing(std::move(options));
  std::string problem;
  if (!dispatcher->Start(&problem)) return gen::Error(gen::ErrorCode::kInternal, problem);
  free_.reserve(all_.size() + 1);  // who gives one back has nothing to allocate
  all_.push_back(std::move(dispatcher));
  return all_.back().get();
}

void DedicatedDispatchers::Give(core::Dispatcher& dispatcher) {
  std::lock_guard lock(mutex_);
  free_.push_back(&dispatcher);
}

void DedicatedDispatchers::Stop() {
  // Not under the lock: what still runs may give its dispatcher back.
  std::vector<core::Dispatcher*> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& dispatcher : all_) all.push_back(dispatcher.get());
  }
  for (core::Dispatcher* dispatcher : all) (void)dispatcher->Stop();
}

}  // namespace ergon::node
