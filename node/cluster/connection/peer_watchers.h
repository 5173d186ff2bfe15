// The processes of one other node that watch processes of this node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index_container.hpp>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>

namespace ergon::dist {

// One watches `watched`, maybe by its name.
struct PeerWatcher {
  std::uint64_t number = 0;  // stands for its reference here
  gen::PID remote;
  gen::PID watched;
  gen::Atom name{};      // empty: by the PID
  bool is_link = false;  // it has linked itself by a name or an alias of that
};

// Watchers are found by their number and by their reference, a term (`raw`) that the other node has chosen. A peer may
// have as many as it likes, so each is one piece of memory, in which its reference has only what tells it from others.
// One thread at a time.
class PeerWatchers {
 public:
  // Returns false, and changes nothing, if there is a watcher with that reference or number already.
  bool Add(const PeerWatcher& watcher, std::string_view raw);
  // Return null if there is none. Valid until it is taken.
  [[nodiscard]] const PeerWatcher* Find(std::uint64_t number) const;
  [[nodiscard]] const PeerWatcher* FindByReference(std::string_view raw) const;
  // Returns its reference, or nothing if there is none of that number.
  [[nodiscard]] std::string ReferenceOf(std::uint64_t number) const;
  // Notes whom it watches, which was not known before. Returns false if there is none.
  bool NoteWatched(std::uint64_t number, gen::PID watched);
  // Removes it. Returns false if there is none.
  bool Erase(std::uint64_t number);
  // Remove and return it.
  struct Taken {
    PeerWatcher watcher;
    std::string reference;
  };
  std::optional<Taken> Take(std::uint64_t number);
  std::optional<PeerWatcher> TakeByReference(std::string_view raw);
  // Calls visit(watcher) for each.
  template <class Visit>
  void VisitAll(Visit&& visit) const {
    for (const Entry& entry : entries_.get<0>()) visit(entry.watcher);
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    PeerWatcher watcher;
    std::string key;  // see KeyOf
  };
  struct NumberOf {
    using result_type = std::uint64_t;
    result_type operator()(const Entry& entry) const noexcept { return entry.watcher.number; }
  };
  // The numbers are ours. The other node chooses its references: they are ordered, so that it cannot choose them for
  // their hashes.
  using Entries = boost::multi_index_container<
      Entry, boost::multi_index::indexed_by<
                 boost::multi_index::hashed_unique<NumberOf>,
                 boost::multi_index::ordered_unique<
                     boost::multi_index::member<Entry, std::string, &Entry::key>, std::less<>>>>;

  // The references of one node differ in their words only. Of one whose atom and creation are common_, the key is the
  // number of its words and those: with three, as most of Erlang's have, a string that needs no memory; those of
  // monitors that are aliases, too, have five. Of others it is a zero and all of it.
  [[nodiscard]] std::string KeyOf(std::string_view raw) const;
  [[nodiscard]] std::string RawOf(std::string_view key) const;

  Entries entries_;
  std::string common_;  // of the first reference; empty: there was none
};

}  // namespace ergon::dist
