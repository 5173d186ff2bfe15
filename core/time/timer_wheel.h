// A hierarchical timing wheel: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP
// 1987), with occupancy bitmaps, as in tokio's time driver. The work of a large slot is spread over the time before, as
// that of a rebuilding is in Overmars, "The Design of Dynamic Data Structures" (1983).
//
// Time is cut into ticks of 2^16 ns, and a tick number into digits of 6 bits: a slot of level L is as long as 64^L
// ticks, and 64 of them are one slot of the level above. Each level has 128 slots, for the slot of the level above in
// which `elapsed_` lies and for the next one. A timer hangs on the lowest level that has a slot for it. Eight levels
// cover every 64-bit deadline, and these facts hold:
//
//   * all occupied slots of a level lie ahead of the slot in which `elapsed_` is, on the lowest level not before it;
//   * timers of the same tick are in order: an older one never hangs above a younger one.
//
// When a slot becomes due it is drained: timers that are due are handed out, the rest sinks to lower levels. That alone
// would let the first timer of a large slot wait until all others have sunk. So the next slot of each level sinks ahead
// of time: each tick moves an equal part of what is still there (`SinkAhead`). A timer that is added to such a slot
// meanwhile joins those that have not sunk yet, if there are any, and hangs on a lower level at once if there are none.
//
// Two more departures from the usual form:
//
//   * A slot remembers the earliest deadline that was put into it, and is drained when *that* is
//     due, not when its first tick begins. One timer of an hour costs its driver one wake-up
//     instead of one for each level, and ticks are no limit to precision: a timer is due at its
//     very nanosecond, never before.
//   * Draining and sinking are resumable (`budget`), so that whoever guards the wheel with a lock never holds it
//     for long, however many timers share a slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ergon/core/clock.h>

namespace ergon::core {

// The length of a tick: 2^16 ns, about 66 us.
inline constexpr int kTimerTickBits = 16;
inline constexpr int64_t kTimerTick = int64_t{1} << kTimerTickBits;

// The intrusive hook. It must not move while it is in a wheel.
class TimerNode {
 public:
  TimerNode() = default;
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;

  [[nodiscard]] bool linked() const { return next_ != nullptr; }

  // Returns the deadline of the last `Insert`; negative ones read as 0.
  [[nodiscard]] int64_t deadline() const { return deadline_; }

 private:
  friend class TimerWheel;

  TimerNode* prev_ = nullptr;
  TimerNode* next_ = nullptr;  // null: not in a wheel
  int64_t deadline_ = 0;
  uint32_t slot_ = 0;  // where it was last hung up
};

// Not thread safe. Nodes that are still linked when a wheel ends must not be removed any more.
class TimerWheel {
 public:
  TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Adds an unlinked node. O(1). A deadline in the past is due at once.
  void Insert(TimerNode& node, int64_t deadline);

  // Takes a linked node out. O(1).
  void Remove(TimerNode& node);

  // Returns a time not later than the earliest deadline, and exactly that unless the earliest timer of its slot has
  // been removed since. `kNever` when empty. A driver that calls `PopDue` until nothing is left and then sleeps until
  // this time wakes in vain at most once for each slot that time passes.
  [[nodiscard]] int64_t NextExpiry() const;

  // Unlinks and returns the next timer whose deadline is `now` or earlier; null if there is none,
  // or if `budget` has been spent. Each node touched costs one. Timers come in the order of their
  // ticks, and within a tick in the order of insertion. `now` should not decrease.
  [[nodiscard]] TimerNode* PopDue(int64_t now, size_t& budget);

  // To be called when nothing is left that is due at `now`: moves timers of later slots to where they are found at once
  // when they are due, as many as have to for the time that has passed since the last call, but a bounded number.
  // Returns when that is done, or `budget` has been spent: then it goes on with the next call. Each node touched costs
  // one. A wheel works without it, but the first timer of a large slot is late then. So it is when the driver has slept
  // through the time of the slot before.
  void SinkAhead(int64_t now, size_t& budget);

  // Hands all timers that are due at `now` to `expired(TimerNode&)`, unlinked: it may insert them again, and a timer
  // that is inserted as already due comes in the same call. Then sinks ahead. Returns how many were due.
  template <typename Expired>
  size_t Advance(int64_t now, Expired&& expired) {
    size_t count = 0;
    size_t budget = std::numeric_limits<size_t>::max();
    while (TimerNode* node = PopDue(now, budget)) {
      ++count;
      expired(*node);
    }
    SinkAhead(now, budget);
    return count;
  }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  static constexpr size_t kDigitBits = 6;
  static constexpr size_t kDigits = size_t{1} << kDigitBits;
  static constexpr size_t kSlots = 2 * kDigits;
  static constexpr size_t kLevels = 8;
  static_assert(kLevels * kDigitBits + kTimerTickBits >= 63, "every deadline must have a slot");
  // Of one level in one call of SinkAhead: 0.1 ms, if each is a line of memory that nobody has touched for long.
  static constexpr size_t kMostAhead = 1024;

  // A slot by its place in time: it begins at the tick `number << (level * kDigitBits)`.
  struct Place {
    size_t level = kLevels;  // kLevels: none
    uint64_t number = 0;
    uint64_t start = 0;
  };

  [[nodiscard]] static uint64_t NumberOf(uint64_t tick, size_t level) {
    return tick >> (level * kDigitBits);
  }
  static void Append(TimerNode& head, TimerNode& node);
  static TimerNode& TakeFirst(TimerNode& head);
  [[nodiscard]] size_t Index(size_t level, uint64_t number) const {
    return level * kSlots + (number & (kSlots - 1));
  }
  [[nodiscard]] bool IsOccupied(size_t level, uint64_t number) const {
    return (occupied_[level][(number >> kDigitBits) & 1] >> (number & (kDigits - 1)) & 1) != 0;
  }
  void NoteEmpty(size_t index);
  void Hang(TimerNode& node, size_t highest);
  [[nodiscard]] bool IsBeforeAbove(size_t level, uint64_t number) const;
  [[nodiscard]] bool FindFirst(size_t level, uint64_t& number) const;
  [[nodiscard]] Place FirstPlace() const;
  [[nodiscard]] size_t DueAhead(size_t level, uint64_t tick) const;
  void BeginDrain(const Place& place);
  void MoveElapsed(int64_t now);

  // No timer hangs on an earlier tick than this one; timers whose deadline has passed hang on it.
  uint64_t elapsed_ = 0;
  size_t size_ = 0;
  // A bit for each slot that is not empty; those of numbers with an even rest first.
  std::array<std::array<uint64_t, 2>, kLevels> occupied_{};

  // The rest of the slot being drained, level `draining_level_`, and its earliest deadline. New timers of that slot's
  // time go to its end, which keeps equal deadlines in order.
  TimerNode draining_;
  int64_t draining_earliest_ = kNever;
  size_t draining_level_ = 0;

  // The tick until which slots have sunk ahead, and how many nodes each level still has to move for that.
  uint64_t sunk_until_ = 0;
  std::array<size_t, kLevels> ahead_{};

  // Heads of circular lists. The deadline of a head is the earliest that was put into the list since it was empty, and
  // its `slot_` the number of nodes.
  std::array<TimerNode, kLevels * kSlots> slots_;
};

}  // namespace ergon::core
