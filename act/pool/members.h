// The places of a pool's workers, and what is known about who sits there.
//
//            Started            Ended              Spawned
//   kStarting -------> kReady --------> kVacant ------------> kStarting
//       |       Ended                      ^
//       +----------------------------------+
//
// A seat that Leave was called for gets no replacement: it is erased when its worker ends.
//
// Each seat has an entry in the rotation. While a seat is vacant or starting, the entry is the id
// of the worker that died: senders that meet it go on to the next, and its replacement takes its
// turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include <ergon/gen/pid.h>

namespace ergon::act {

enum class SeatState : std::uint8_t {
  kStarting,  // its worker runs Init
  kReady,     // its worker takes messages
  kVacant,    // its worker has ended, the next one is not there yet
};

struct PoolSeat {
  std::uint64_t number = 0;  // never given out twice
  SeatState state = SeatState::kReady;
  bool leaving = false;
  bool drains = false;             // told to end after what it has: an order that waits behind that
  bool taken_out = false;          // by RemoveWorkers
  bool dismissed = false;          // leaves because the pool ends
  gen::PID worker;                 // nobody while kVacant
  std::uint64_t entry = 0;         // in the rotation
  std::int64_t ready_at = 0;       // ns, while kReady
  int failures = 0;                // in a row; see PoolRestarts::Delay
  std::uint64_t handled_seen = 0;  // messages its worker had handled when somebody last looked
  std::uint64_t expired_seen = 0;  // likewise, requests skipped because their time was up
  std::uint64_t handled_before = 0;  // of those, before it was told to leave
};

// Counts are kept up to date, so asking for them is cheap.
class PoolSeats {
 public:
  using Map = std::map<std::uint64_t, PoolSeat>;  // by number: the oldest first

  // A new seat at the end.
  PoolSeat& AddReady(gen::PID worker, std::int64_t now);
  // One that nobody has, and no entry in the rotation yet.
  PoolSeat& AddVacant();

  // References stay valid until the seat is erased. Null: there is none.
  [[nodiscard]] PoolSeat* FindWorker(gen::PID worker);
  [[nodiscard]] PoolSeat* FindEntry(std::uint64_t entry);
  [[nodiscard]] PoolSeat* FindNumber(std::uint64_t number);
  [[nodiscard]] const Map& all() const noexcept { return seats_; }
  [[nodiscard]] Map& all() noexcept { return seats_; }

  // The transitions above.
  void Spawned(PoolSeat& seat, gen::PID worker);
  void Started(PoolSeat& seat, std::int64_t now);
  void Ended(PoolSeat& seat);
  void Leave(PoolSeat& seat);
  void Erase(PoolSeat& seat);

  // Seats that do not leave.
  [[nodiscard]] std::size_t members() const noexcept { return counts_.members; }
  // Members whose worker takes messages, and the others.
  [[nodiscard]] std::size_t ready() const noexcept { return counts_.ready; }
  [[nodiscard]] std::size_t pending() const noexcept { return counts_.members - counts_.ready; }
  // Workers that live, those that leave included.
  [[nodiscard]] std::size_t alive() const noexcept { return counts_.alive; }
  [[nodiscard]] std::size_t leaving() const noexcept { return seats_.size() - counts_.members; }

 private:
  struct Counts {
    std::size_t members = 0;
    std::size_t ready = 0;
    std::size_t alive = 0;
  };
  void Count(const PoolSeat& seat);
  void Uncount(const PoolSeat& seat);

  std::uint64_t next_number_ = 1;
  Map seats_;
  // The ids of living workers and of entries, which may be the same.
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  Counts counts_;
};

}  // namespace ergon::act
