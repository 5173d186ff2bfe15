// The environment of a node.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include <ergon/gen/environment.h>
#include <ergon/node/process_state/environments.h>

namespace ergon::node {

// Any thread.
class NodeEnvironment {
 public:
  explicit NodeEnvironment(const gen::Environment& values);

  // Returns the environment; never null.
  [[nodiscard]] SharedEnvironment Get() const;
  [[nodiscard]] gen::AnyValue Find(std::string_view name) const;
  void Set(std::string_view name, gen::AnyValue value);

  // Returns true if neither the node nor any process has ever had a value: there is nothing to inherit.
  [[nodiscard]] bool IsUnused() const { return !used_.load(std::memory_order_acquire); }
  // Notes that there are values. Call it before a process gets values of its own.
  void NoteUse() { used_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> used_;
  mutable std::mutex mutex_;
  SharedEnvironment values_;
};

}  // namespace ergon::node
