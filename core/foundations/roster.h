// A list of the objects that exist now, for a debugger that reads the program's memory: nothing in the program reads
// it.
#pragma once

#include <atomic>

namespace ergon::core {

// A list that only grows: an object that leaves makes its place free for the next one. Without a lock, so that a fork
// at any moment leaves it whole. May be used from any thread. It lives as long as the program.
class Roster {
 public:
  struct Place {
    std::atomic<const void*> who{nullptr};  // null: free
    Place* next = nullptr;
  };

  constexpr Roster() = default;
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  Place& Enter(const void* who);
  [[nodiscard]] const std::atomic<Place*>& first() const noexcept { return first_; }

 private:
  std::atomic<Place*> first_{nullptr};
};

// Stands in the roster while it lives.
class OnRoster {
 public:
  OnRoster(Roster& roster, const void* who) : place_(roster.Enter(who)) {}
  ~OnRoster() { place_.who.store(nullptr, std::memory_order_release); }  // partner: Enter
  OnRoster(const OnRoster&) = delete;
  OnRoster& operator=(const OnRoster&) = delete;

 private:
  Roster::Place& place_;
};

}  // namespace ergon::core
