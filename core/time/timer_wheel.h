// A hierarchical timing wheel: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (SOSP
// 1987), with 64 slots a level, an occupancy bitmap per level and the choice of the level by the
// highest differing bit, as in tokio's time driver.
//
// Time is cut into ticks of 2^16 ns, and a tick number into digits of 6 bits. A timer hangs on the
// level of the highest digit in which its tick differs from `elapsed_`, in the slot which that
// digit names. Eight levels cover every 64-bit deadline, so nothing ever wraps and two facts hold:
//
//   * on each level above the lowest all occupied slots lie ahead of the digit of `elapsed_`;
//   * all timers of a level are due before all timers of the levels above it.
//
// So the first occupied slot of the lowest occupied level holds the earliest timer. When that slot
// becomes due it is drained: timers that are due are handed out, the rest sinks to lower levels.
//
// Two departures from the usual form:
//
//   * A slot remembers the earliest deadline that was put into it, and is drained when *that* is
//     due, not when its first tick begins. One timer of an hour costs its driver one wake-up
//     instead of one for each level, and ticks are no limit to precision: a timer is due at its
//     very nanosecond, never before.
//   * Draining is resumable (`budget`), so that whoever guards the wheel with a lock never holds it
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
  uint32_t slot_ = 0;  // level * 64 + slot, where it was last hung up
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

  // Hands all timers that are due at `now` to `expired(TimerNode&)`, unlinked: it may insert them again, and a timer
  // that is inserted as already due comes in the same call. Returns how many there were.
  template <typename Expired>
  size_t Advance(int64_t now, Expired&& expired) {
    size_t count = 0;
    size_t budget = std::numeric_limits<size_t>::max();
    while (TimerNode* node = PopDue(now, budget)) {
      ++count;
      expired(*node);
    }
    return count;
  }

  [[nodiscard]] size_t size() const { return size_; }

 private:
  static constexpr size_t kSlotBits = 6;
  static constexpr size_t kSlots = size_t{1} << kSlotBits;
  static constexpr size_t kLevels = 8;
  static_assert(kLevels * kSlotBits + kTimerTickBits >= 63, "every deadline must have a slot");

  static void Append(TimerNode& head, TimerNode& node);
  void Hang(TimerNode& node);
  [[nodiscard]] size_t LowestLevel() const;
  [[nodiscard]] size_t FirstSlot(size_t level) const;
  [[nodiscard]] uint64_t SlotStart(size_t level, size_t slot) const;
  void BeginDrain(size_t level, size_t slot);
  void MoveElapsed(int64_t now);

  // No timer hangs on an earlier tick than this one; timers whose deadline has passed hang on it.
  uint64_t elapsed_ = 0;
  size_t size_ = 0;
  std::array<uint64_t, kLevels> occupied_{};  // a bit for each slot that is not empty

  // The rest of the slot being drained, level `draining_level_`, and its earliest deadline. New timers of that slot's
  // time go to its end, which keeps equal deadlines in order.
  TimerNode draining_;
  int64_t draining_earliest_ = kNever;
  size_t draining_level_ = 0;

  // Heads of circular lists, and the earliest deadline put into each since it was empty.
  std::array<TimerNode, kLevels * kSlots> slots_;
  std::array<int64_t, kLevels * kSlots> earliest_;
};

}  // namespace ergon::core
