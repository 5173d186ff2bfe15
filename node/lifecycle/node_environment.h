// Environments: maps that many processes share until one of them changes its own.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ergon/gen/environment.h>

namespace ergon::node {

// Null: empty. What it points to never changes.
using SharedEnvironment = std::shared_ptr<const gen::Environment>;

// `values` with one more, or other, or less.
[[nodiscard]] SharedEnvironment WithValue(const SharedEnvironment& values, std::string_view name,
                                          std::optional<std::string> value);
// What `values` has, and what only `below` has. One of the two, shared, when that is all there is.
[[nodiscard]] SharedEnvironment Above(const SharedEnvironment& values,
                                      const SharedEnvironment& below);

// That of the node. Any thread.
class NodeEnvironment {
 public:
  explicit NodeEnvironment(const gen::Environment& values);

  // Never null.
  [[nodiscard]] SharedEnvironment Get() const;
  void Set(std::string_view name, std::optional<std::string> value);

  // Neither the node nor any process has ever had a value: there is nothing to inherit.
  [[nodiscard]] bool IsUnused() const { return !used_.load(std::memory_order_acquire); }
  // Before a process gets values of its own.
  void NoteUse() { used_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> used_;
  mutable std::mutex mutex_;
  SharedEnvironment values_;
};

}  // namespace ergon::node
