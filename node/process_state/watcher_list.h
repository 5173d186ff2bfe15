// The watchers that get a notice when a process, or a name or an alias of it, ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <ergon/core/foundations/keyed_list.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/gen/target.h>

namespace ergon::node {

struct Watcher {  // a process that monitors another one
  gen::PID pid;
  gen::Ref ref;
  gen::Target what;      // as it was given to Monitor or Link
  bool is_link = false;  // by a name or an alias: it gets an exit signal
};

struct WatcherByRef {
  std::uint64_t operator()(const Watcher& watcher) const noexcept { return watcher.ref.id; }
};

// A KeyedList by ref that also knows which watcher came by which name or alias, and which one is a link by it. When an
// alias goes, as one may for each request, no other watcher is looked at, however many watch the process. Refs have
// increasing numbers, so entries that are taken together come in the order of their making.
template <class KeyOf = WatcherByRef>
class WatcherList {
 public:
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  // Returns how many of them are links.
  [[nodiscard]] std::size_t links() const noexcept {
    return named_ == nullptr ? 0 : named_->links.size();
  }
  // Calls `function` with the maker of each link, until it returns false. No other watcher is looked at.
  template <class Function>
  void VisitLinkMakers(const Function& function) const {
    if (named_ == nullptr) return;
    for (const auto& [maker, ref] : named_->links) {
      if (!function(maker)) return;
    }
  }

  void push_back(Watcher watcher) {
    if (const std::uint64_t tag = watcher.what.Tag(); tag != 0) {
      if (named_ == nullptr) named_ = std::make_unique<Named>();
      named_->by_tag.emplace(tag, watcher.ref.id);
    }
    if (watcher.is_link) {
      if (named_ == nullptr) named_ = std::make_unique<Named>();
      named_->links.emplace(watcher.pid, watcher.ref.id);
    }
    all_.push_back(std::move(watcher));
  }
  // Removes the watcher with this ref. Returns false if there is none.
  bool Remove(std::uint64_t ref) {
    if (named_ == nullptr) return all_.Remove(ref);
    return TakeWhole(ref).has_value();
  }
  // Removes and returns the watchers that came by the name or alias whose gen::Target::Tag is `tag`.
  std::vector<Watcher> TakeOf(std::uint64_t tag) { return TakeAll(&Named::by_tag, tag); }
  // Removes and returns the links that the process `maker` has made.
  std::vector<Watcher> TakeLinksOf(gen::PID maker) { return TakeAll(&Named::links, maker); }
  void swap(WatcherList& other) noexcept {
    all_.swap(other.all_);
    named_.swap(other.named_);
  }

 private:
  template <class Key>
  using Refs = std::set<std::pair<Key, std::uint64_t>>;
  struct Named {
    Refs<std::uint64_t> by_tag;
    Refs<gen::PID> links;
  };

  template <class Key>
  std::vector<Watcher> TakeAll(Refs<Key> Named::*refs, const Key& key) {
    std::vector<Watcher> taken;
    if (named_ == nullptr) return taken;
    auto& found = (*named_).*refs;
    auto at = found.lower_bound({key, 0});
    while (at != found.end() && at->first == key) {
      const std::uint64_t ref = at->second;
      ++at;  // this one goes
      if (auto watcher = TakeWhole(ref)) taken.push_back(std::move(*watcher));
    }
    return taken;
  }
  std::optional<Watcher> TakeWhole(std::uint64_t ref) {
    Watcher* const found = all_.Find(ref);
    if (found == nullptr) return std::nullopt;
    Watcher watcher = *found;
    all_.Remove(ref);
    named_->by_tag.erase({watcher.what.Tag(), ref});
    if (watcher.is_link) named_->links.erase({watcher.pid, ref});
    return watcher;
  }

  core::KeyedList<Watcher, KeyOf> all_;
  std::unique_ptr<Named> named_;  // null: all came by the PID
};

}  // namespace ergon::node
