// Names and aliases, and the processes that they mean.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::node {

// A map with many readers. Any thread.
template <class Key>
class Directory {
 public:
  // Returns false if the key is taken.
  bool Add(Key key, gen::PID pid) {
    std::unique_lock lock(mutex_);
    return entries_.emplace(key, pid).second;
  }
  // Returns the PID of a key; the empty PID if there is no such key.
  [[nodiscard]] gen::PID Find(Key key) const {
    std::shared_lock lock(mutex_);
    auto found = entries_.find(key);
    return found == entries_.end() ? gen::PID() : found->second;
  }
  // Removes the key if it means `pid`; returns whether it did.
  bool Remove(Key key, gen::PID pid) {
    std::unique_lock lock(mutex_);
    auto found = entries_.find(key);
    if (found == entries_.end() || found->second != pid) return false;
    entries_.erase(found);
    return true;
  }
  [[nodiscard]] std::size_t size() const {
    std::shared_lock lock(mutex_);
    return entries_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Key, gen::PID> entries_;
};

using Names = Directory<gen::Atom>;
using Aliases = Directory<std::uint64_t>;

}  // namespace ergon::node
