// Processes by keys of any type: rooms by number, sessions by customer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/gen/node.h>

namespace ergon::gen {

enum class RegistryKeys : std::uint8_t {
  kUnique,     // a key belongs to one process
  kDuplicate,  // a key may belong to any number of processes, each of which may have it once
};

namespace detail {
// Tells the log that a key of a process that has ended is not free, because the key has thrown.
void TellStuckKey(Process& self, PID gone, const std::exception_ptr& thrown);
}  // namespace detail

// A process may have any number of keys, each with a value that says more about it. Its keys become free when it has
// ended: soon, not at once, because a process of the registry's own learns of the end as a monitor does. So a process
// that is found here may be gone when a message is sent to it. A lost connection to a node frees its processes' keys.
//
//   auto rooms = gen::KeyRegistry<int>::Start(node).value();  // not in a handler
//   rooms.Register(42, Self()).value();                       // in a handler of a process that has a copy
//   if (auto room = rooms.Find(42)) Send(room->pid, Say{"hello"});
//
// Copies are the same registry. May be used from any thread, also in handlers; finding waits only for a writer that is
// writing just now. The registry's process lives until the node stops. No copy may be used when the node's object is
// gone. Destructors of keys and values may use the registry. Key needs a hash and ==; Key and Value are copied. What
// these throw, the function that was called throws, and the registry is as before. If they throw when a process has
// ended, the log has it, and that key alone stays taken until Unregister is called with it.
template <class Key, class Value = std::monostate, class Hash = std::hash<Key>>
class KeyRegistry {
 public:
  struct Entry {
    PID pid;
    Value value;
  };

  // Starts a registry. Errors: those of Node::Spawn, also kNotAllowed in a handler; kProcessTerminated: the node stops.
  static Result<KeyRegistry> Start(Node& node, RegistryKeys keys = RegistryKeys::kUnique) {
    auto state = std::make_shared<State>(keys);
    auto keeper = node.Spawn([state](Process& self) { state->Keep(self); },
                             {.mailbox = Mailbox::Unbounded()});
    if (!keeper) return std::move(keeper.error());
    // `node` may be moved later, the node that its processes see is not.
    auto home = node.Call(*keeper, AskForItsNode{}, {.timeout = kInfinite});
    if (!home) return std::move(home.error());
    return KeyRegistry(**home, *keeper, std::move(state));
  }

  // Registers a process by a key. Returns kTaken if a process has the key, with duplicate keys if this process has it;
  // kNodeTerminated, and kProcessTerminated if the registry's process has been ended by somebody, or by the node that
  // stops. The key of a process that has ended already becomes free again soon.
  Result<void> Register(const Key& key, PID pid, Value value = {}) {
    auto added = state_->Add(key, pid, std::move(value));
    if (!added) return std::move(added.error());
    try {
      auto watched = node_->Send(keeper_, Watch{pid, *added});
      if (!watched) (void)Unregister(key, pid);
      return watched;
    } catch (...) {  // nobody would free it
      (void)Unregister(key, pid);
      throw;
    }
  }
  // Takes a key away. Returns false if the process does not have it.
  bool Unregister(const Key& key, PID pid) {
    Removed removed;
    std::lock_guard lock(state_->mutex);
    auto keys = state_->keys_of.find(pid);
    if (keys == state_->keys_of.end()) return false;
    auto place = keys->second.find(key);
    return place != keys->second.end() && state_->Remove(keys, place, removed);
  }

  // Returns the process of a key; of duplicate keys the process that was registered first.
  [[nodiscard]] std::optional<Entry> Find(const Key& key) const {
    std::shared_lock lock(state_->mutex);
    auto found = state_->entries.find(key);
    if (found == state_->entries.end() || found->second.empty()) return std::nullopt;
    return found->second.front();
  }
  // Returns all processes of a key, in the order in which they were registered.
  [[nodiscard]] std::vector<Entry> FindAll(const Key& key) const {
    std::vector<Entry> all;  // goes after the lock if a copy throws
    std::shared_lock lock(state_->mutex);
    auto found = state_->entries.find(key);
    if (found == state_->entries.end()) return all;
    all.reserve(found->second.size());
    for (const Entry& entry : found->second) all.push_back(entry);
    return all;
  }
  // Returns all keys of a process, in the order in which they were registered.
  [[nodiscard]] std::vector<Key> KeysOf(PID pid) const {
    std::vector<Key> keys;
    std::shared_lock lock(state_->mutex);
    auto found = state_->keys_of.find(pid);
    if (found == state_->keys_of.end()) return keys;
    std::vector<const typename KeysOfOne::value_type*> ordered;
    for (const auto& its : found->second) ordered.push_back(&its);
    std::ranges::sort(ordered, {}, [](const auto* its) { return its->second.number; });
    keys.reserve(ordered.size());
    for (const auto* its : ordered) keys.push_back(its->first);
    return keys;
  }
  // Returns how many different keys are registered, by any process.
  [[nodiscard]] std::size_t size() const {
    std::shared_lock lock(state_->mutex);
    return state_->entries.size();
  }

 private:
  // Sent to the registry's process: from now on it watches for the end of `pid`, which has keys up to that number.
  struct Watch {
    PID pid;
    std::uint64_t number;
  };
  struct AskForItsNode {
    using Reply = Node*;
  };
  // Lists, not vectors: taking something out assigns no key and no value, which could throw half-way.
  using Entries = std::unordered_map<Key, std::list<Entry>, Hash>;
  // Where the entry of a process is in the list of a key: however long that is, nobody goes through it under the lock.
  struct Place {
    typename std::list<Entry>::iterator entry;
    std::uint64_t number;  // in the order of registering
  };
  using KeysOfOne = std::unordered_map<Key, Place, Hash>;
  using KeysOfProcess = std::unordered_map<PID, KeysOfOne>;
  // What was taken out. It goes after the lock: destructors of keys and values may use the registry.
  struct Removed {
    typename Entries::node_type last;  // with the key of its list
    std::list<Entry> entries;
    typename KeysOfOne::node_type key;
  };

  struct State {
    explicit State(RegistryKeys its_keys) : keys(its_keys) {}
    // Returns the number of the key.
    Result<std::uint64_t> Add(const Key& key, PID pid, Value value) {
      std::list<Entry> made{{pid, std::move(value)}};  // without the lock: something is destroyed
      Removed removed;
      std::lock_guard lock(mutex);
      const auto found = entries.try_emplace(key).first;
      auto& of_key = found->second;
      const std::size_t before = of_key.size();
      try {
        const auto its = keys_of.find(pid);
        const bool has_it = its != keys_of.end() && its->second.contains(key);
        if (before != 0 && keys == RegistryKeys::kUnique)
          return Error(ErrorCode::kTaken, "the key belongs to " + of_key.front().pid.ToString());
        if (before != 0 && has_it)
          return Error(ErrorCode::kTaken, pid.ToString() + " has registered this key already");
        of_key.splice(of_key.end(), made);
        keys_of[pid].try_emplace(key, Place{std::prev(of_key.end()), ++registered});
        return registered;
      } catch (...) {
        if (of_key.size() != before)
          removed.entries.splice(removed.entries.end(), of_key, std::prev(of_key.end()));
        if (of_key.empty()) removed.last = entries.extract(found);
        const auto its = keys_of.find(pid);
        if (its != keys_of.end() && its->second.empty()) keys_of.erase(its);
        throw;
      }
    }
    // Removes a key of a process; under the lock. Returns false if the process does not have it. Nothing is changed if
    // the key throws.
    bool Remove(typename KeysOfProcess::iterator its, typename KeysOfOne::iterator key,
                Removed& removed) {
      auto found = entries.find(key->first);
      if (found == entries.end()) return false;
      removed.entries.splice(removed.entries.end(), found->second, key->second.entry);
      if (found->second.empty()) removed.last = entries.extract(found);
      removed.key = its->second.extract(key);
      if (its->second.empty()) keys_of.erase(its);
      return true;
    }
    // The function of the registry's process.
    void Keep(Process& self) {
      std::unordered_map<PID, std::uint64_t> watched;  // and the number of its latest key
      while (auto next = self.Receive<Watch, MessageDownPID, Asked<AskForItsNode>>()) {
        if (const auto* asked = std::get_if<Asked<AskForItsNode>>(&*next)) {
          (void)self.Reply(*asked, &self.Node());
        } else if (const auto* watch = std::get_if<Watch>(&*next)) {
          std::uint64_t& latest = watched[watch->pid];
          if (latest == 0) (void)self.Monitor(watch->pid);
          latest = std::max(latest, watch->number);
        } else if (const auto gone = watched.extract(std::get<MessageDownPID>(*next).pid)) {
          // Of a node that is connected again it may have got keys meanwhile: their Watch is on its way.
          if (const std::exception_ptr thrown = Forget(gone.key(), gone.mapped()))
            detail::TellStuckKey(self, gone.key(), thrown);
        }
      }
    }
    // Takes away the keys up to that number. Returns what a key has thrown; the others are free.
    std::exception_ptr Forget(PID gone, std::uint64_t latest) {
      std::exception_ptr thrown;
      // Others may take keys away meanwhile, so those that stay are gone through once more after each that has gone.
      for (std::size_t stuck = 0, free = 0;;) {
        Removed removed;
        std::lock_guard lock(mutex);
        auto its = keys_of.find(gone);
        if (its == keys_of.end()) return thrown;
        if (stuck >= its->second.size()) {
          if (std::exchange(free, 0) == 0) return thrown;
          stuck = 0;
        }
        try {
          const auto key = std::next(its->second.begin(), static_cast<std::ptrdiff_t>(stuck));
          (key->second.number <= latest) && Remove(its, key, removed) ? ++free : ++stuck;
        } catch (...) {  // it stays, for Unregister
          thrown = std::current_exception();
          ++stuck;
        }
      }
    }

    const RegistryKeys keys;
    mutable std::shared_mutex mutex;
    Entries entries;
    KeysOfProcess keys_of;
    std::uint64_t registered = 0;
  };

  KeyRegistry(Node& node, PID keeper, std::shared_ptr<State> state)
      : node_(&node), keeper_(keeper), state_(std::move(state)) {}

  Node* node_;
  PID keeper_;
  std::shared_ptr<State> state_;
};

}  // namespace ergon::gen
