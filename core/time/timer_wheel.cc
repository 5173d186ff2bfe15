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
}

void TimerWheel::Append(TimerNode& head, TimerNode& node) {
  node.prev_ = head.prev_;
  node.next_ = &head;
  head.prev_->next_ = &node;
  head.prev_ = &node;
}

TimerNode& TimerWheel::TakeFirst(TimerNode& head) {
  TimerNode& node = *head.next_;
  head.next_ = node.next_;
  node.next_->prev_ = &head;
  return node;
}

void TimerWheel::NoteEmpty(size_t index) {
  const size_t slot = index % kSlots;
  occupied_[index / kSlots][slot / kDigits] &= ~(uint64_t{1} << (slot % kDigits));
}

// Puts a node whose deadline is set into its slot, on the level `highest` or below. That level has a slot for it.
void TimerWheel::Hang(TimerNode& node, size_t highest) {
  const uint64_t tick = std::max(TickOf(node.deadline_), elapsed_);
  size_t level = highest;
  // Not below older timers of its tick, which may hang in a slot that has not sunk yet.
  while (level > 0 && NumberOf(tick, level) - NumberOf(elapsed_, level) <= 1 &&
         !IsOccupied(level, NumberOf(tick, level))) {
    --level;
  }
  const uint64_t number = NumberOf(tick, level);
  const size_t index = Index(level, number);
  TimerNode& head = slots_[index];
  head.deadline_ =
      IsOccupied(level, number) ? std::min(head.deadline_, node.deadline_) : node.deadline_;
  occupied_[level][(number >> kDigitBits) & 1] |= uint64_t{1} << (number & (kDigits - 1));
  ++head.slot_;
  node.slot_ = static_cast<uint32_t>(index);
  Append(head, node);
}

void TimerWheel::Insert(TimerNode& node, int64_t deadline) {
  assert(!node.linked());
  node.deadline_ = std::max<int64_t>(deadline, 0);
  ++size_;
  const uint64_t tick = std::max(TickOf(node.deadline_), elapsed_);
  if (draining_.next_ != &draining_) {
    // While a slot is being drained, `elapsed_` is its first tick, so nothing is earlier than it.
    if (NumberOf(tick, draining_level_) == NumberOf(elapsed_, draining_level_)) {
      draining_earliest_ = std::min(draining_earliest_, node.deadline_);
      node.slot_ = kLevels * kSlots;  // none
      Append(draining_, node);
      return;
    }
  }
  // The highest digit that differs. On levels above it both are in the same slot, which is empty; below the level that
  // was drained last, it need not be.
  const uint64_t difference = elapsed_ ^ tick;
  const size_t level =
      difference == 0 ? 0 : (static_cast<size_t>(std::bit_width(difference)) - 1) / kDigitBits;
  Hang(node, std::max(level, draining_level_));
}

void TimerWheel::Remove(TimerNode& node) {
  assert(node.linked());
  node.prev_->next_ = node.next_;
  node.next_->prev_ = node.prev_;
  node.prev_ = node.next_ = nullptr;
  --size_;
  if (node.slot_ == kLevels * kSlots) return;
  // For a node of the list being drained this is the slot it came from, which has a count of its own by now, if any:
  // that of the lowest level, where nothing sinks.
  TimerNode& head = slots_[node.slot_];
  if (head.slot_ != 0) --head.slot_;
  if (head.next_ == &head) NoteEmpty(node.slot_);
}

// The number of the first occupied slot of a level. False: there is none.
bool TimerWheel::FindFirst(size_t level, uint64_t& number) const {
  const uint64_t above = level + 1 < kLevels ? NumberOf(elapsed_, level + 1) : 0;
  for (uint64_t i = 0; i < 2; ++i) {
    const uint64_t occupied = occupied_[level][(above + i) & 1];
    if (occupied == 0) continue;
    number = (above + i) << kDigitBits | static_cast<uint64_t>(std::countr_zero(occupied));
    return true;
  }
  return false;
}

// Returns whether this slot, which is occupied, begins before all that are occupied on the levels above: it is in the
// same one as `elapsed_` there, which is empty from the level on that was drained last.
bool TimerWheel::IsBeforeAbove(size_t level, uint64_t number) const {
  return level + 1 >= draining_level_ && NumberOf(number, 1) == NumberOf(elapsed_, level + 1);
}

int64_t TimerWheel::NextExpiry() const {
  int64_t earliest = draining_.next_ == &draining_ ? kNever : draining_earliest_;
  for (size_t level = 0; level < kLevels; ++level) {
    uint64_t number = 0;
    if (!FindFirst(level, number)) continue;
    earliest = std::min(earliest, slots_[Index(level, number)].deadline_);
    if (IsBeforeAbove(level, number)) break;
  }
  return earliest;
}

// The occupied slot that begins first, of several the longest: what is in it comes before what has sunk from it.
TimerWheel::Place TimerWheel::FirstPlace() const {
  Place first;
  for (size_t level = 0; level < kLevels; ++level) {
    uint64_t number = 0;
    if (!FindFirst(level, number)) continue;
    const uint64_t start = number << (level * kDigitBits);
    if (first.level == kLevels || start <= first.start) first = {level, number, start};
    if (IsBeforeAbove(level, number)) break;
  }
  return first;
}

void TimerWheel::BeginDrain(const Place& place) {
  const size_t index = Index(place.level, place.number);
  TimerNode& head = slots_[index];
  draining_.next_ = head.next_;
  draining_.prev_ = head.prev_;
  draining_.next_->prev_ = &draining_;
  draining_.prev_->next_ = &draining_;
  head.prev_ = head.next_ = &head;
  head.slot_ = 0;
  NoteEmpty(index);
  draining_earliest_ = head.deadline_;
  draining_level_ = place.level;
  elapsed_ = std::max(elapsed_, place.start);
}

// Nothing is due at `now`: lets the wheel catch up, but not into an occupied slot of a higher
// level, which has to be drained first.
void TimerWheel::MoveElapsed(int64_t now) {
  uint64_t limit = TickOf(now);
  const Place first = FirstPlace();
  if (first.level < kLevels) {
    limit = std::min(limit, first.level == 0 || first.start == 0 ? first.start : first.start - 1);
  }
  if (limit <= elapsed_) return;
  elapsed_ = limit;
  draining_level_ = 0;  // nothing is left in the slots where `elapsed_` is
}

TimerNode* TimerWheel::PopDue(int64_t now, size_t& budget) {
  assert(now >= 0);
  while (true) {
    while (draining_.next_ != &draining_) {
      if (budget == 0) return nullptr;
      --budget;
      TimerNode& node = TakeFirst(draining_);
      // Only the lowest level hands out: what comes from above is sorted by ticks first.
      if (draining_level_ == 0 && node.deadline_ <= now) {
        node.prev_ = node.next_ = nullptr;
        --size_;
        return &node;
      }
      Hang(node, draining_level_ == 0 ? 0 : draining_level_ - 1);
    }
    if (NextExpiry() > now) break;
    const Place first = FirstPlace();
    if (first.level == kLevels) break;  // empty, and `now` is `kNever`
    BeginDrain(first);
  }
  MoveElapsed(now);
  return nullptr;
}

// How many nodes of the next slot of a level sink now, in `tick`: the part of them that the ticks since the last time
// are of the ticks until that slot begins, or more. All, if it has begun already: `elapsed_` waits for the slot then.
size_t TimerWheel::DueAhead(size_t level, uint64_t tick) const {
  const uint64_t next = NumberOf(elapsed_, level) + 1;
  const uint64_t since = std::max(sunk_until_, (next - 1) << (level * kDigitBits));
  if (!IsOccupied(level, next) || since >= tick) return 0;
  const size_t count = slots_[Index(level, next)].slot_;
  const uint64_t start = next << (level * kDigitBits);
  const size_t part = tick >= start ? count : count / ((start - since) / (tick - since)) + 1;
  return std::min(part, kMostAhead);
}

void TimerWheel::SinkAhead(int64_t now, size_t& budget) {
  if (draining_.next_ != &draining_) return;
  const uint64_t tick = TickOf(now);
  if (sunk_until_ < tick) {
    for (size_t level = 1; level < kLevels; ++level) ahead_[level] = DueAhead(level, tick);
    sunk_until_ = tick;
  }
  for (size_t level = 1; level < kLevels; ++level) {
    const size_t index = Index(level, NumberOf(elapsed_, level) + 1);
    TimerNode& head = slots_[index];
    for (; ahead_[level] > 0 && head.next_ != &head; --ahead_[level]) {
      if (budget == 0) return;
      --budget;
      TimerNode& node = TakeFirst(head);
      --head.slot_;
      if (head.next_ == &head) NoteEmpty(index);
      Hang(node, level - 1);
    }
    ahead_[level] = 0;
  }
}

}  // namespace ergon::core
