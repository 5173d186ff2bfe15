#include <ergon/act/pool/queue.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <ergon/core/foundations/mix.h>

namespace ergon::act {
namespace {

bool IsImportant(const PoolQueue::Item& item) {
  return (item.envelope->flags & core::Envelope::kFlagImportant) != 0;
}

}  // namespace

// -- members

PoolQueue::Lane* PoolQueue::Find(std::uint64_t member) {
  auto found = lanes_.find(member);
  return found == lanes_.end() ? nullptr : &found->second;
}

std::vector<std::uint64_t> PoolQueue::Members() const {
  std::vector<std::uint64_t> members;
  for (const auto& [member, lane] : lanes_) members.push_back(member);
  return members;
}

void PoolQueue::Open(std::uint64_t member) {
  lanes_[member];
  for (Item& item : std::exchange(homeless_, {})) {
    keys_[*item.key].home = member;
    lanes_[member].queue.push_back(std::move(item));
  }
}

void PoolQueue::SetFree(std::uint64_t member) {
  Lane* lane = Find(member);
  if (lane == nullptr || lane->leaving || lane->free) return;
  lane->free = true;
  if (!lane->queue.empty()) runnable_.push_back(member);
  if (!std::exchange(lane->listed, true)) free_.push_back(member);
}

void PoolQueue::Leave(std::uint64_t member) {
  Lane* lane = Find(member);
  if (lane == nullptr || lane->leaving) return;
  lane->leaving = true;
  lane->free = false;
  MoveAway(member);
}

void PoolQueue::Remove(std::uint64_t member) {
  Lane* lane = Find(member);
  if (lane == nullptr) return;
  lane->leaving = true;
  ReleaseInFlight(*lane);
  MoveAway(member);
  lanes_.erase(member);
  std::erase(free_, member);
  std::erase(runnable_, member);
}

void PoolQueue::MoveAway(std::uint64_t member) {
  Lane& lane = lanes_[member];
  for (Item& item : std::exchange(lane.queue, {})) {
    const std::uint64_t key = *item.key;
    const auto& stay = lane.in_flight;
    if (std::find(stay.begin(), stay.end(), key) != stay.end()) {
      lane.queue.push_back(std::move(item));
      continue;
    }
    CountTaken(item);
    KeyState& state = keys_[key];
    if (state.home == member) state.home = Hash(key);
    --state.messages;  // Push counts it again
    const Where where = item.returned ? Where::kBehindReturned : Where::kBack;
    Push(std::move(item), where);
  }
}

// -- keys

std::uint64_t PoolQueue::Hash(std::uint64_t key) const {
  std::uint64_t best = 0;
  std::uint64_t highest = 0;
  for (const auto& [member, lane] : lanes_) {
    if (lane.leaving) continue;
    const std::uint64_t weight = core::Mix(key ^ core::Mix(member));
    if (best == 0 || weight > highest || (weight == highest && member < best)) {
      best = member;
      highest = weight;
    }
  }
  return best;
}

std::uint64_t PoolQueue::HomeOf(std::uint64_t key) const {
  auto found = keys_.find(key);
  return found == keys_.end() ? Hash(key) : found->second.home;
}

void PoolQueue::Release(std::uint64_t key) {
  auto found = keys_.find(key);
  if (found != keys_.end() && --found->second.messages == 0) keys_.erase(found);
}

void PoolQueue::ReleaseInFlight(Lane& lane) {
  for (const std::uint64_t key : std::exchange(lane.in_flight, {})) Release(key);
}

// -- messages

void PoolQueue::Push(Item item, Where where) {
  CountWaiting(item);
  std::deque<Item>* queue = &common_;
  if (item.key) {
    auto [state, is_new] = keys_.try_emplace(*item.key);
    if (is_new) state->second.home = Hash(*item.key);
    ++state->second.messages;
    const std::uint64_t home = state->second.home;
    Lane* lane = Find(home);
    queue = lane == nullptr ? &homeless_ : &lane->queue;
    if (lane != nullptr && lane->free) runnable_.push_back(home);
  }
  auto place = where == Where::kBack ? queue->end() : queue->begin();
  if (where == Where::kBehindReturned) {
    place = std::find_if(place, queue->end(), [](const Item& other) { return !other.returned; });
  }
  queue->insert(place, std::move(item));
}

void PoolQueue::CountWaiting(const Item& item) {
  ++waiting_;
  if (item.returned) {
    ++waiting_returned_;
  } else if (IsImportant(item)) {
    ++waiting_important_;
  }
}

void PoolQueue::CountTaken(const Item& item) {
  --waiting_;
  if (item.returned) {
    --waiting_returned_;
  } else if (IsImportant(item)) {
    --waiting_important_;
  }
}

void PoolQueue::Add(Item item) {
  item.number = ++last_number_;
  Push(std::move(item), Where::kBack);
}

void PoolQueue::Return(std::uint64_t member, std::vector<Item> items, bool late) {
  // First these, so that their keys keep their home.
  if (!late) std::reverse(items.begin(), items.end());
  for (Item& item : items) {
    item.returned = true;
    Push(std::move(item), late ? Where::kBehindReturned : Where::kFront);
  }
  Lane* lane = Find(member);
  if (lane == nullptr) return;
  lane->free = false;
  ReleaseInFlight(*lane);
  if (lane->leaving) MoveAway(member);
}

PoolQueue::Turn PoolQueue::TakeTurn(std::uint64_t member, Lane& lane, std::deque<Item>& queue) {
  Turn turn{member, std::move(queue.front())};
  queue.pop_front();
  CountTaken(turn.item);
  lane.free = false;
  lane.last_has_key = turn.item.key.has_value();
  if (turn.item.key) lane.in_flight.push_back(*turn.item.key);
  return turn;
}

std::optional<PoolQueue::Turn> PoolQueue::TakeTurn() {
  while (!runnable_.empty()) {
    const std::uint64_t member = runnable_.front();
    Lane* lane = Find(member);
    if (lane == nullptr || !lane->free || lane->queue.empty()) {
      runnable_.pop_front();
      continue;
    }
    const bool own = common_.empty() || lane->queue.front().number < common_.front().number;
    if (!own) break;  // whoever has been free longest goes first
    runnable_.pop_front();
    return TakeTurn(member, *lane, lane->queue);
  }
  return TakeCommonTurn();
}

std::optional<PoolQueue::Turn> PoolQueue::TakeCommonTurn() {
  while (!common_.empty() && !free_.empty()) {
    const std::uint64_t member = free_.front();
    free_.pop_front();
    Lane* lane = Find(member);
    if (lane == nullptr) continue;
    lane->listed = false;
    if (lane->free) return TakeTurn(member, *lane, common_);
  }
  return std::nullopt;
}

std::optional<PoolQueue::Turn> PoolQueue::TakeOther(std::uint64_t member,
                                                    const std::function<bool(const Item&)>& may) {
  Lane* const lane = Find(member);
  const auto found = std::find_if(common_.begin(), common_.end(), may);
  if (lane == nullptr || lane->leaving || found == common_.end()) return std::nullopt;
  Turn turn{member, std::move(*found)};
  common_.erase(found);
  CountTaken(turn.item);
  lane->free = lane->last_has_key = false;
  return turn;
}

void PoolQueue::Undo(Turn turn) {
  Lane* lane = Find(turn.member);
  const bool has_key = turn.item.key.has_value();
  const std::uint64_t key = turn.item.key.value_or(0);
  Push(std::move(turn.item), Where::kFront);
  if (!has_key) return;
  if (lane != nullptr) {
    lane->in_flight.pop_back();
    lane->last_has_key = false;
  }
  Release(key);
}

void PoolQueue::Done(std::uint64_t member, Handled handled) {
  Lane* lane = Find(member);
  if (lane == nullptr) return;
  if (handled == Handled::kAll) {
    ReleaseInFlight(*lane);
  } else if (std::exchange(lane->last_has_key, false) && !lane->in_flight.empty()) {
    std::vector<std::uint64_t>& keys = lane->in_flight;
    const auto last = keys.end() - 1;
    // One of each key is enough to keep it.
    if (handled == Handled::kLast || std::find(keys.begin(), last, *last) != last) {
      Release(*last);
      keys.pop_back();
    }
  }
  if (lane->leaving) MoveAway(member);
}

template <class Function>
void PoolQueue::ForEachQueue(Function function) {
  function(common_);
  function(homeless_);
  for (auto& [member, lane] : lanes_) function(lane.queue);
}

PoolQueue::Item PoolQueue::TakeOut(std::deque<Item>& queue,
                                   const std::deque<Item>::iterator& item) {
  Item taken = std::move(*item);
  queue.erase(item);
  CountTaken(taken);
  if (taken.key) Release(*taken.key);
  return taken;
}

template <class Predicate>
std::optional<PoolQueue::Item> PoolQueue::TakeFirst(Predicate may) {
  std::deque<Item>* best = nullptr;
  std::deque<Item>::iterator oldest;
  ForEachQueue([&](std::deque<Item>& queue) {
    const auto found = std::find_if(queue.begin(), queue.end(), may);
    if (found == queue.end()) return;
    if (best != nullptr && oldest->number <= found->number) return;
    best = &queue;
    oldest = found;
  });
  if (best == nullptr) return std::nullopt;
  return TakeOut(*best, oldest);
}

std::optional<PoolQueue::Item> PoolQueue::TakeIf(const std::function<bool(const Item&)>& may) {
  return TakeFirst(may);
}

std::optional<PoolQueue::Item> PoolQueue::TakeOldest() {
  return TakeFirst([](const Item& item) { return !item.returned; });
}

std::optional<PoolQueue::Item> PoolQueue::TakeNewest() {
  std::deque<Item>* best = nullptr;
  std::deque<Item>::iterator newest;
  ForEachQueue([&](std::deque<Item>& queue) {
    const auto found = std::find_if(queue.rbegin(), queue.rend(), [](const Item& item) {
      return !item.returned && !IsImportant(item);
    });
    if (found == queue.rend()) return;
    if (best != nullptr && newest->number > found->number) return;
    best = &queue;
    newest = std::prev(found.base());
  });
  if (best == nullptr) return std::nullopt;
  return TakeOut(*best, newest);
}

std::vector<PoolQueue::Item> PoolQueue::TakeAll() {
  std::vector<Item> items;
  while (auto item = TakeFirst([](const Item&) { return true; })) items.push_back(std::move(*item));
  return items;
}

std::size_t PoolQueue::waiting_given() const {
  const auto given = [](const std::deque<Item>& queue) {
    return static_cast<std::size_t>(
        std::count_if(queue.begin(), queue.end(), [](const Item& item) { return item.given; }));
  };
  std::size_t count = given(common_) + given(homeless_);
  for (const auto& [member, lane] : lanes_) count += given(lane.queue);
  return count;
}

}  // namespace ergon::act
