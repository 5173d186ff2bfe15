#include <algorithm>
#include <bit>
#include <cassert>

#include <ergon/core/time/timer_wheel.h>

namespace ergon::core {
namespace {

constexpr uint64_t TickOf(int64_t time) { return static_cast<uint64_t>(time) >> kTimerTickBits; }

}  // namespace

TimerWheel::TimerWheel() {
  for (TimerNode& head : slots_) head.prev_ = head.next_ = &head;
  draining_.prev_ = draining_.next_ = &draining_;
  earliest_.fill(kNever);
}

void TimerWheel::Append(TimerNode& head, TimerNode& node) {
  node.prev_ = head.prev_;
  node.next_ = &head;
  head.prev_->next_ = &node;
  head.prev_ = &node;
}

// Puts a node whose deadline is set into its slot.
void TimerWheel::Hang(TimerNode& node) {
  const uint64_t tick = std::max(TickOf(node.deadline_), elapsed_);
  const uint64_t difference = elapsed_ ^ tick;
  const size_t level = difference < kSlots ? 0 : (std::bit_width(difference) - 1) / kSlotBits;
  const size_t slot = (tick >> (level * kSlotBits)) & (kSlots - 1);
  const size_t index = level * kSlots + slot;
  const uint64_t bit = uint64_t{1} << slot;

  earliest_[index] =
      (occupied_[level] & bit) != 0 ? std::min(earliest_[index], node.deadline_) : node.deadline_;
  occupied_[level] |= bit;
  node.slot_ = static_cast<uint32_t>(index);
  Append(slots_[index], node);
}

void TimerWheel::Insert(TimerNode& node, int64_t deadline) {
  assert(!node.linked());
  node.deadline_ = std::max<int64_t>(deadline, 0);
  ++size_;
  if (draining_.next_ != &draining_) {
    // While a slot is being drained, `elapsed_` is its first tick, so nothing is earlier than it.
    const uint64_t tick = std::max(TickOf(node.deadline_), elapsed_);
    const size_t shift = draining_level_ * kSlotBits;
    if (tick >> shift == elapsed_ >> shift) {
      draining_earliest_ = std::min(draining_earliest_, node.deadline_);
      Append(draining_, node);
      return;
    }
  }
  Hang(node);
}

void TimerWheel::Remove(TimerNode& node) {
  assert(node.linked());
  node.prev_->next_ = node.next_;
  node.next_->prev_ = node.prev_;
  node.prev_ = node.next_ = nullptr;
  --size_;
  // For a node of the list being drained this is the slot it came from, or any slot it once had:
  // clearing the bit of an empty slot is right in either case.
  const TimerNode& head = slots_[node.slot_];
  if (head.next_ == &head) {
    occupied_[node.slot_ / kSlots] &= ~(uint64_t{1} << (node.slot_ % kSlots));
  }
}

// `kLevels` if the wheel is empty.
size_t TimerWheel::LowestLevel() const {
  for (size_t level = 0; level < kLevels; ++level) {
    if (occupied_[level] != 0) return level;
  }
  return kLevels;
}

size_t TimerWheel::FirstSlot(size_t level) const {
  return static_cast<size_t>(std::countr_zero(occupied_[level]));
}

int64_t TimerWheel::NextExpiry() const {
  if (draining_.next_ != &draining_) return draining_earliest_;
  const size_t level = LowestLevel();
  if (level == kLevels) return kNever;
  return earliest_[level * kSlots + FirstSlot(level)];
}

// The first tick of an occupied slot: the digits of `elapsed_` above `level`, then `slot`.
uint64_t TimerWheel::SlotStart(size_t level, size_t slot) const {
  const size_t shift = level * kSlotBits;
  const uint64_t above = elapsed_ >> shift >> kSlotBits << kSlotBits;
  return (above | uint64_t{slot}) << shift;
}

void TimerWheel::BeginDrain(size_t level, size_t slot) {
  const size_t index = level * kSlots + slot;
  TimerNode& head = slots_[index];
  draining_.next_ = head.next_;
  draining_.prev_ = head.prev_;
  draining_.next_->prev_ = &draining_;
  draining_.prev_->next_ = &draining_;
  head.prev_ = head.next_ = &head;
  occupied_[level] &= ~(uint64_t{1} << slot);
  draining_earliest_ = earliest_[index];
  draining_level_ = level;
  elapsed_ = SlotStart(level, slot);
}

// Nothing is due at `now`: lets the wheel catch up, but not into an occupied slot of a higher
// level, which has to be drained first.
void TimerWheel::MoveElapsed(int64_t now) {
  uint64_t limit = TickOf(now);
  const size_t level = LowestLevel();
  if (level < kLevels) {
    const uint64_t start = SlotStart(level, FirstSlot(level));
    limit = std::min(limit, level == 0 ? start : start - 1);
  }
  elapsed_ = std::max(elapsed_, limit);
}

TimerNode* TimerWheel::PopDue(int64_t now, size_t& budget) {
  assert(now >= 0);
  while (true) {
    while (draining_.next_ != &draining_) {
      if (budget == 0) return nullptr;
      --budget;
      TimerNode& node = *draining_.next_;
      draining_.next_ = node.next_;
      node.next_->prev_ = &draining_;
      // Only the lowest level hands out: what comes from above is sorted by ticks first.
      if (draining_level_ == 0 && node.deadline_ <= now) {
        node.prev_ = node.next_ = nullptr;
        --size_;
        return &node;
      }
      Hang(node);
    }
    if (NextExpiry() > now) break;
    const size_t level = LowestLevel();
    if (level == kLevels) break;  // empty, and `now` is `kNever`
    BeginDrain(level, FirstSlot(level));
  }
  MoveElapsed(now);
  return nullptr;
}

}  // namespace ergon::core
