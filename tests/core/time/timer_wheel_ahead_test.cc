// Slots that sink ahead of time: how much work there is at once, and that nothing else changes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/time/timer_wheel.h>

namespace ergon::core::timer_wheel_ahead_test {
namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

// How long a slot is: 64^level ticks.
int64_t SlotWidth(int level) { return kTimerTick << (6 * level); }

uint64_t Seed() {
  const char* given = std::getenv("ERGON_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// What one step of a driver has cost, in nodes touched.
struct Work {
  size_t fired = 0;
  size_t before = 0;  // those that fired, and what had to be done before they could
  size_t ahead = 0;
};

Work Step(TimerWheel& wheel, int64_t now) {
  Work work;
  size_t budget = kUnlimited;
  while (wheel.PopDue(now, budget) != nullptr) ++work.fired;
  work.before = kUnlimited - budget;
  budget = kUnlimited;
  wheel.SinkAhead(now, budget);
  work.ahead = kUnlimited - budget;
  return work;
}

TEST_CASE("timer_wheel: the timers of large slots sink some at a time") {
  constexpr int kTimers = 200'000;
  constexpr int64_t kStep = 4 * kTimerTick;
  // About four slots of the third level, from the middle of one: 53,000 timers in each, 830 in one of the second.
  const int64_t begin = SlotWidth(2) / 2;
  const int64_t end = begin + 4 * SlotWidth(2);
  TimerWheel wheel;
  (void)Step(wheel, begin);
  std::vector<std::unique_ptr<TimerNode>> nodes;
  std::mt19937_64 random(1);
  for (int i = 0; i < kTimers; ++i) {
    nodes.push_back(std::make_unique<TimerNode>());
    const auto after = static_cast<int64_t>(random() % static_cast<uint64_t>(end - begin));
    wheel.Insert(*nodes.back(), begin + after);
  }
  Work most;
  size_t fired = 0;
  size_t moved = 0;
  for (int64_t now = begin; now <= end + kStep; now += kStep) {
    const Work work = Step(wheel, now);
    fired += work.fired;
    moved += work.before - work.fired + work.ahead;
    most.before = std::max(most.before, work.before - work.fired);
    most.ahead = std::max(most.ahead, work.ahead);
  }
  CHECK(fired == kTimers);
  CHECK(most.before < 200);
  CHECK(most.ahead < 400);
  CHECK(
      moved <=
      3 * kTimers);  // each from level to level, and some once more in the tick in which they are due
}

TEST_CASE("timer_wheel: what sinks at once is bounded, however long the driver has slept") {
  constexpr size_t kTimers = 10'000;
  TimerWheel wheel;
  std::vector<TimerNode> nodes(kTimers);
  for (TimerNode& node : nodes) wheel.Insert(node, 2 * SlotWidth(2) + SlotWidth(1));
  TimerNode alarm;
  wheel.Insert(alarm,
               2 * SlotWidth(2) - 2 * kTimerTick);  // half of what is to be done is overdue then
  (void)Step(wheel, SlotWidth(2));
  const Work work = Step(wheel, alarm.deadline());
  CHECK(work.fired == 1);
  CHECK(work.ahead >= 1'000);
  CHECK(work.ahead <= 1'100);
  CHECK(Step(wheel, nodes.front().deadline()).fired == kTimers);
}

TEST_CASE("timer_wheel: a slot that has begun, and nothing of which is due, sinks too") {
  constexpr size_t kTimers = 3'000;
  TimerWheel wheel;
  std::vector<TimerNode> nodes(kTimers);
  const int64_t begin = 40 * SlotWidth(2);  // the driver has slept until now
  for (TimerNode& node : nodes) wheel.Insert(node, begin + SlotWidth(1) * 3);
  for (int64_t now = begin; now < begin + 10 * kTimerTick; now += kTimerTick) {
    const Work work = Step(wheel, now);
    CHECK(work.before == 0);
    CHECK(work.ahead < 3'000);
  }
  const Work work = Step(wheel, nodes.front().deadline());
  CHECK(work.fired == kTimers);
  CHECK(work.before == 2 * kTimers);  // from the slot of the second level, and when they fire
}

TEST_CASE("timer_wheel: a timer that is added to a slot that sinks fires in its turn") {
  TimerWheel wheel;
  const int64_t deadline = 2 * SlotWidth(2) + SlotWidth(1) + 5 * kTimerTick;
  std::vector<TimerNode> nodes(100);
  for (TimerNode& node : nodes) wheel.Insert(node, deadline);
  TimerNode ticker, while_sinking, removed, after_sinking;
  wheel.Insert(ticker, SlotWidth(2) + SlotWidth(2) / 2);
  CHECK(Step(wheel, ticker.deadline()).fired == 1);
  wheel.Insert(ticker, 2 * SlotWidth(2) - 1);
  wheel.Insert(while_sinking, deadline);
  wheel.Insert(removed, deadline);
  wheel.Remove(removed);
  wheel.Remove(nodes[3]);  // has sunk, or not
  wheel.Remove(nodes[97]);
  CHECK(Step(wheel, ticker.deadline()).fired == 1);
  wheel.Insert(after_sinking, deadline);
  std::vector<TimerNode*> expected;
  for (TimerNode& node : nodes) {
    if (&node != &nodes[3] && &node != &nodes[97]) expected.push_back(&node);
  }
  expected.push_back(&while_sinking);
  expected.push_back(&after_sinking);
  std::vector<TimerNode*> fired;
  CHECK(wheel.Advance(deadline - 1, [](TimerNode&) {}) == 0);
  CHECK(wheel.NextExpiry() == deadline);
  wheel.Advance(deadline, [&](TimerNode& node) { fired.push_back(&node); });
  CHECK(fired == expected);
}

// A wheel and the naive model of it: an ordered map by tick and number of the insertion.
class Pair {
 public:
  explicit Pair(int timers) {
    for (int i = 0; i < timers; ++i) nodes_.push_back(std::make_unique<TimerNode>());
  }

  TimerNode& node(uint64_t random) { return *nodes_[random % nodes_.size()]; }
  TimerWheel& wheel() { return wheel_; }

  void Insert(TimerNode& node, int64_t deadline) {
    wheel_.Insert(node, deadline);
    const Key key{deadline >> kTimerTickBits, ++inserted_};
    model_.emplace(key, &node);
    keys_[&node] = key;
  }
  void Remove(TimerNode& node) {
    wheel_.Remove(node);
    model_.erase(keys_.at(&node));
  }
  // The first in the model that is due is the one that the wheel has handed out.
  void Fired(const TimerNode& node, int64_t now) {
    REQUIRE(node.deadline() <= now);
    const auto first = std::find_if(model_.begin(), model_.end(), [&](const auto& entry) {
      return entry.second->deadline() <= now;
    });
    REQUIRE(first != model_.end());
    REQUIRE(first->second == &node);
    model_.erase(first);
  }
  [[nodiscard]] int64_t Earliest() const {
    int64_t earliest = kNever;
    for (const auto& [key, node] : model_) earliest = std::min(earliest, node->deadline());
    return earliest;
  }
  [[nodiscard]] size_t size() const { return model_.size(); }
  void Clear() {
    for (const auto& [key, node] : model_) wheel_.Remove(*node);
    model_.clear();
  }

 private:
  using Key = std::pair<int64_t, uint64_t>;

  TimerWheel wheel_;
  std::vector<std::unique_ptr<TimerNode>> nodes_;
  std::map<Key, TimerNode*> model_;
  std::map<TimerNode*, Key> keys_;
  uint64_t inserted_ = 0;
};

// Crowds that are due in few ticks, small steps and long ones, work that is interrupted anywhere.
TEST_CASE("timer_wheel: fires what a naive model fires, in its order, whatever has sunk") {
  const uint64_t seed = Seed();
  MESSAGE("ERGON_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    Pair pair(400);
    int64_t now = static_cast<int64_t>(random() >> (8 + random() % 40));
    (void)Step(pair.wheel(), now);
    const int bits = 18 + round % 26;  // the longest delay: from some ticks to days
    const auto duration = [&] {
      return static_cast<int64_t>(random() >> (64 - 1 - random() % static_cast<uint64_t>(bits)));
    };
    int64_t crowd = now + duration();
    bool completely = true;  // all that was due has been handed out
    for (int step = 0; step < 3'000; ++step) {
      const uint64_t choice = random() % 100;
      if (choice < 60) {
        TimerNode& node = pair.node(random());
        if (node.linked()) {
          if (choice < 20) pair.Remove(node);
        } else {
          pair.Insert(node, choice < 30 ? std::max(crowd, now) : now + duration());
        }
      } else if (choice < 70) {
        size_t budget = random() % 5;
        pair.wheel().SinkAhead(now, budget);
      } else if (choice < 72) {
        crowd = now + duration();
      } else {
        if (completely && choice < 95) now += duration() >> (choice < 85 ? 6 : 0);
        completely = choice % 2 == 0;
        size_t budget = completely ? kUnlimited : random() % 20;
        while (TimerNode* due = pair.wheel().PopDue(now, budget)) pair.Fired(*due, now);
        REQUIRE((!completely || pair.Earliest() > now));
      }
      REQUIRE(pair.wheel().size() == pair.size());
      REQUIRE(pair.wheel().NextExpiry() <= pair.Earliest());
    }
    pair.Clear();
    REQUIRE(pair.wheel().NextExpiry() == kNever);
  }
}

}  // namespace
}  // namespace ergon::core::timer_wheel_ahead_test
