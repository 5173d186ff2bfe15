// Threads for detached processes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// Dispatchers of one thread each. A dispatcher whose process has ended serves the next one, so that there are never
// more than there were detached processes at a time. Any thread.
class DedicatedDispatchers {
 public:
  // Returns a started dispatcher that no process uses, with the options of the node's, except the number of threads.
  // Returns kInternal if no thread or stack could be had.
  gen::Result<core::Dispatcher*> TakeFree(core::DispatcherOptions options);
  // Takes a dispatcher back. It may still run the turn in which its process has ended.
  void Give(core::Dispatcher& dispatcher);
  // Ends all threads.
  void Stop();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<core::Dispatcher>> all_;
  std::vector<core::Dispatcher*> free_;
};

}  // namespace ergon::node
