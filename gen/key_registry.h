// Processes by keys of any type: rooms by number, sessions by customer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/gen/node.h>

namespace ergon::gen {

enum class RegistryKeys : std::uint8_t {
  kUnique,     // a key belongs to one process
  kDuplicate,  // to any number, each of which may have it once
};

// A process may have any number of keys, each with a value that says more about it. They are free again when it has
// ended: soon, not at once, because a process of the registry's own learns of the end as a monitor does. So who finds
// a process here may find that it is gone when it sends.
//
//   auto rooms = gen::KeyRegistry<int>::Start(node).value();
//   rooms.Register(42, Self());
//   ...
//   if (auto room = rooms.Find(42)) Send(room->pid, Say{"hello"});
//
// Copies are the same registry. Any thread, handlers too; finding waits for nobody but who writes at that moment. Its
// process lives until the node stops. Key needs a hash and ==; Key and Value are copied.
template <class Key, class Value = std::monostate, class Hash = std::hash<Key>>
class KeyRegistry {
 public:
  struct Entry {
    PID pid;
    Value value;
  };

  // Errors: those of Spawn.
  static Result<KeyRegistry> Start(Node& node, RegistryKeys keys = RegistryKeys::kUnique) {
    auto state = std::make_shared<State>(keys);
    ProcessOptions options;
    options.mailbox = Mailbox::Unbounded();
    auto keeper = node.Spawn([state](Process& self) { state->Keep(self); }, options);
    if (!keeper) return std::move(keeper.error());
    return KeyRegistry(node, *keeper, std::move(state));
  }

  // kTaken: another process has the key, or with duplicate keys this one; kNodeTerminated. The key of a process
  // that has ended already is free again soon.
  Result<void> Register(const Key& key, PID pid, Value value = {}) {
    {
      std::lock_guard lock(state_->mutex);
      auto& entries = state_->entries[key];
      const bool is_taken = state_->keys == RegistryKeys::kUnique
                                ? !entries.empty()
                                : state_->Of(entries, pid) != entries.end();
      if (is_taken)
        return Error(ErrorCode::kTaken, "the key belongs to " + entries[0].pid.ToString());
      entries.push_back({pid, std::move(value)});
      state_->keys_of[pid].push_back(key);
    }
    auto watched = node_->Send(keeper_, Watch{pid});
    if (!watched) (void)Unregister(key, pid);
    return watched;
  }
  // False: it has not got this key.
  bool Unregister(const Key& key, PID pid) {
    std::lock_guard lock(state_->mutex);
    auto keys = state_->keys_of.find(pid);
    if (keys == state_->keys_of.end() || !state_->Remove(key, pid)) return false;
    std::erase(keys->second, key);
    if (keys->second.empty()) state_->keys_of.erase(keys);
    return true;
  }

  // Of duplicate keys the one that was registered first.
  [[nodiscard]] std::optional<Entry> Find(const Key& key) const {
    std::shared_lock lock(state_->mutex);
    auto found = state_->entries.find(key);
    if (found == state_->entries.end() || found->second.empty()) return std::nullopt;
    return found->second.front();
  }
  // In the order in which they were registered.
  [[nodiscard]] std::vector<Entry> FindAll(const Key& key) const {
    std::shared_lock lock(state_->mutex);
    auto found = state_->entries.find(key);
    return found == state_->entries.end() ? std::vector<Entry>() : found->second;
  }
  [[nodiscard]] std::vector<Key> KeysOf(PID pid) const {
    std::shared_lock lock(state_->mutex);
    auto found = state_->keys_of.find(pid);
    return found == state_->keys_of.end() ? std::vector<Key>() : found->second;
  }
  // How many keys belong to somebody.
  [[nodiscard]] std::size_t size() const {
    std::shared_lock lock(state_->mutex);
    return state_->entries.size();
  }

 private:
  // To the registry's process: from now on its end is of interest.
  struct Watch {
    PID pid;
  };

  struct State {
    explicit State(RegistryKeys its_keys) : keys(its_keys) {}

    static auto Of(std::vector<Entry>& entries, PID pid) {
      return std::find_if(entries.begin(), entries.end(),
                          [&](const Entry& entry) { return entry.pid == pid; });
    }
    // Under the lock, from `entries` only. False: it is not there.
    bool Remove(const Key& key, PID pid) {
      auto found = entries.find(key);
      if (found == entries.end()) return false;
      auto entry = Of(found->second, pid);
      if (entry == found->second.end()) return false;
      found->second.erase(entry);
      if (found->second.empty()) entries.erase(found);
      return true;
    }
    // What the registry's process does.
    void Keep(Process& self) {
      std::unordered_set<PID> watched;
      while (auto next = self.Receive<Watch, MessageDownPID>()) {
        if (const auto* watch = std::get_if<Watch>(&*next)) {
          if (watched.insert(watch->pid).second) (void)self.Monitor(watch->pid);
          continue;
        }
        // Who registers it again now makes it watched again: it has ended, so that is for a moment.
        const PID gone = std::get<MessageDownPID>(*next).pid;
        watched.erase(gone);
        std::lock_guard lock(mutex);
        auto its = keys_of.find(gone);
        if (its == keys_of.end()) continue;
        for (const Key& key : its->second) (void)Remove(key, gone);
        keys_of.erase(its);
      }
    }

    const RegistryKeys keys;
    mutable std::shared_mutex mutex;
    std::unordered_map<Key, std::vector<Entry>, Hash> entries;
    std::unordered_map<PID, std::vector<Key>> keys_of;
  };

  KeyRegistry(Node& node, PID keeper, std::shared_ptr<State> state)
      : node_(&node), keeper_(keeper), state_(std::move(state)) {}

  Node* node_;
  PID keeper_;
  std::shared_ptr<State> state_;
};

}  // namespace ergon::gen
