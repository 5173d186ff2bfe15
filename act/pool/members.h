// The members of a pool: the places of its workers, and what is known about the worker in each.
//
//            Started            Ended              Spawned
//   kStarting -------> kReady --------> kVacant ------------> kStarting
//       |       Ended                      ^
//       +----------------------------------+
//
// A member gets no replacement after Leave: it is erased when its worker ends.
//
// Each member has an entry in the rotation. While a member is vacant or starting, the entry is the id
// of the worker that died: senders that meet it go on to the next, and its replacement takes its
// turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include <ergon/gen/pid.h>

namespace ergon::act {

enum class MemberState : std::uint8_t {
  kStarting,  // its worker runs Init
  kReady,     // its worker takes messages
  kVacant,    // its worker has ended, the next one is not there yet
};

struct PoolMember {
  std::uint64_t number = 0;  // never given out twice
  MemberState state = MemberState::kReady;
  bool leaving = false;
  bool drains = false;               // was told to end after its queue; the order waits behind it
  bool taken_out = false;            // by RemoveWorkers
  bool dismissed = false;            // leaves because the pool ends
  gen::PID worker;                   // PID() while kVacant
  std::uint64_t entry = 0;           // in the rotation
  std::int64_t ready_at = 0;         // ns, while kReady
  int failures = 0;                  // in a row; see PoolRestarts::Delay
  std::uint64_t handled_seen = 0;    // messages that its worker had handled at the last look
  std::uint64_t expired_seen = 0;    // likewise, requests skipped because their time was up
  std::uint64_t handled_before = 0;  // messages handled before it was told to leave
};

// Counts are kept up to date, so asking for them is cheap.
class PoolMembers {
 public:
  using Map = std::map<std::uint64_t, PoolMember>;  // by number: the oldest first

  // Adds a member with a ready worker at the end.
  PoolMember& AddReady(gen::PID worker, std::int64_t now);
  // Adds a member without a worker, which has no entry in the rotation yet.
  PoolMember& AddVacant();

  // Each returns null if there is no such member. Pointers stay valid until the member is erased.
  [[nodiscard]] PoolMember* FindWorker(gen::PID worker);
  [[nodiscard]] PoolMember* FindEntry(std::uint64_t entry);
  [[nodiscard]] PoolMember* FindNumber(std::uint64_t number);
  // Returns whether it is the worker of the only member that does not leave.
  [[nodiscard]] bool IsOnlyStaying(gen::PID worker);
  [[nodiscard]] const Map& all() const noexcept { return members_; }
  [[nodiscard]] Map& all() noexcept { return members_; }

  // The transitions above.
  void Spawned(PoolMember& member, gen::PID worker);
  void Started(PoolMember& member, std::int64_t now);
  void Ended(PoolMember& member);
  void Leave(PoolMember& member);
  void Erase(PoolMember& member);

  // Returns how many members do not leave.
  [[nodiscard]] std::size_t staying() const noexcept { return counts_.staying; }
  // Return how many of the staying members have a worker that takes messages, and how many have not.
  [[nodiscard]] std::size_t ready() const noexcept { return counts_.ready; }
  [[nodiscard]] std::size_t pending() const noexcept { return counts_.staying - counts_.ready; }
  // Returns how many workers are alive, including those that leave.
  [[nodiscard]] std::size_t alive() const noexcept { return counts_.alive; }
  [[nodiscard]] std::size_t leaving() const noexcept { return members_.size() - counts_.staying; }

 private:
  struct Counts {
    std::size_t staying = 0;
    std::size_t ready = 0;
    std::size_t alive = 0;
  };
  void Count(const PoolMember& member);
  void Uncount(const PoolMember& member);

  std::uint64_t next_number_ = 1;
  Map members_;
  // The ids of living workers and of entries, which may be the same.
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  Counts counts_;
};

}  // namespace ergon::act
