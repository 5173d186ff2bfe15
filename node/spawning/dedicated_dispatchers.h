// Threads for detached processes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// Dispatchers of one thread each. Those whose process has ended serve the next one, so that there
// are never more than there were detached processes at a time. Any thread.
class DedicatedDispatchers {
 public:
  // One that nobody uses, started; with the options of the node's, but for the number of threads.
  // kInternal: no thread or stack could be had.
  gen::Result<core::Dispatcher*> Take(core::DispatcherOptions options);
  // May still run the turn in which its process has ended.
  void Give(core::Dispatcher& dispatcher);
  // Ends all threads.
  void Stop();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<core::Dispatcher>> all_;
  std::vector<core::Dispatcher*> free_;
};

}  // namespace ergon::node
