// What a process has sent to itself for later (SendAfter).
#pragma once

#include <mutex>

#include <ergon/core/foundations/sync.h>

namespace ergon::node {

// A list of what ends with the process: a timer of hours would hold its message so long for nobody. Belongs to a slot.
class OwnSends {
 public:
  // Part of what is on the list. Lives until it has been removed, or taken.
  struct Entry {
    Entry* next = nullptr;
    Entry** place = nullptr;  // what points to it; null: it is not on the list
  };

  // The process itself.
  void Add(Entry& entry) noexcept {
    std::lock_guard lock(lock_);
    entry.next = first_;
    if (first_ != nullptr) first_->place = &entry.next;
    entry.place = &first_;
    first_ = &entry;
  }
  // Removes an entry, if it is on the list. Any thread.
  void Remove(Entry& entry) noexcept {
    std::lock_guard lock(lock_);
    if (entry.place != nullptr) Unlink(entry);
  }
  // The entries so far are to be taken; not those that are added from now on, by the destructors of what was taken.
  // The process itself.
  void BeginToEnd() noexcept {
    std::lock_guard lock(lock_);
    ending_ = first_;
    if (ending_ != nullptr) ending_->place = &ending_;
    first_ = nullptr;
  }
  // Takes one of these entries and calls `take` with it, under the lock; who would remove the entry waits for that.
  // Returns false if there is none. The process itself.
  template <class Take>
  bool TakeEnding(Take take) {
    std::lock_guard lock(lock_);
    Entry* const entry = ending_;
    if (entry == nullptr) return false;
    Unlink(*entry);
    take(*entry);
    return true;
  }

 private:
  static void Unlink(Entry& entry) noexcept {
    *entry.place = entry.next;
    if (entry.next != nullptr) entry.next->place = entry.place;
    entry.place = nullptr;
  }

  core::SpinLock lock_;
  Entry* first_ = nullptr;
  Entry* ending_ = nullptr;
};

}  // namespace ergon::node
