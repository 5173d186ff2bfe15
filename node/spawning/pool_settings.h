// The changes of pools that the node's options give.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <ergon/gen/atom.h>
#include <ergon/gen/pool_change.h>

namespace ergon::node {

// Maps the names of pools to changes. Any thread.
class PoolSettings {
 public:
  using Changes = std::map<std::string, gen::PoolChange>;

  explicit PoolSettings(Changes changes) : changes_(std::move(changes)) {}

  [[nodiscard]] gen::PoolChange Of(gen::Atom name) const {
    std::lock_guard lock(mutex_);
    const auto found = changes_.find(std::string(name.Text()));
    return found == changes_.end() ? gen::PoolChange() : found->second;
  }
  // Adds the changes of `further`, and returns the changes before.
  Changes Add(const Changes& further) {
    std::lock_guard lock(mutex_);
    Changes before = changes_;
    for (const auto& [name, change] : further) changes_[name].Add(change);
    return before;
  }
  void Set(Changes changes) {
    std::lock_guard lock(mutex_);
    changes_ = std::move(changes);
  }

 private:
  mutable std::mutex mutex_;
  Changes changes_;
};

}  // namespace ergon::node
