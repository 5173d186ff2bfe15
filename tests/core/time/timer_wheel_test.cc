#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_wheel.h>

namespace ergon::core::timer_wheel_test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kYear = 365 * 24 * 3600 * kSecond;
constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

// The first tick of a slot on each level: 64^level ticks.
int64_t SlotWidth(int level) { return kTimerTick << (6 * level); }

std::vector<TimerNode*> AdvanceTo(TimerWheel& wheel, int64_t now) {
  std::vector<TimerNode*> expired;
  wheel.Advance(now, [&](TimerNode& node) { expired.push_back(&node); });
  return expired;
}

// Repeats a failed run: ERGON_TEST_SEED=<the number printed>.
uint64_t Seed() {
  const char* given = std::getenv("ERGON_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

TEST_CASE("timer_wheel: empty") {
  TimerWheel wheel;
  CHECK(wheel.size() == 0);
  CHECK(wheel.NextExpiry() == kNever);
  CHECK(AdvanceTo(wheel, 5 * kSecond).empty());
  CHECK(AdvanceTo(wheel, kNever).empty());
  CHECK(wheel.NextExpiry() == kNever);
}

TEST_CASE("timer_wheel: due at its nanosecond, not before") {
  for (const int64_t deadline :
       {int64_t{1}, kTimerTick - 1, kTimerTick, kTimerTick + 1, 64 * kTimerTick - 1,
        64 * kTimerTick, 5 * kSecond, 10 * kYear, 200 * kYear, kNever}) {
    CAPTURE(deadline);
    TimerWheel wheel;
    TimerNode node;
    wheel.Insert(node, deadline);
    CHECK(node.linked());
    CHECK(node.deadline() == deadline);
    CHECK(wheel.size() == 1);
    CHECK(wheel.NextExpiry() == deadline);
    CHECK(AdvanceTo(wheel, deadline - 1).empty());
    CHECK(wheel.NextExpiry() == deadline);
    CHECK(AdvanceTo(wheel, deadline) == std::vector<TimerNode*>{&node});
    CHECK_FALSE(node.linked());
    CHECK(wheel.size() == 0);
    CHECK(wheel.NextExpiry() == kNever);
  }
}

TEST_CASE("timer_wheel: the past is due at once") {
  TimerWheel wheel;
  CHECK(AdvanceTo(wheel, kSecond).empty());
  TimerNode past, negative, now, later;
  wheel.Insert(past, 3);
  wheel.Insert(negative, -12345);
  wheel.Insert(now, kSecond);
  wheel.Insert(later, kSecond + 1);
  CHECK(negative.deadline() == 0);
  CHECK(AdvanceTo(wheel, kSecond) == std::vector<TimerNode*>{&past, &negative, &now});
  CHECK(wheel.NextExpiry() == kSecond + 1);
  CHECK(AdvanceTo(wheel, kSecond + 1) == std::vector<TimerNode*>{&later});
}

TEST_CASE("timer_wheel: every level cascades down to the exact deadline") {
  for (const int64_t start : {int64_t{0}, 7 * kSecond + 12345, 3 * kYear + 1}) {
    for (int level = 0; level < 8; ++level) {
      for (const int64_t slots : {1, 2, 31, 63}) {
        if (level == 7 && slots > 31) continue;  // beyond 64 bits
        for (const int64_t offset : {int64_t{-1}, int64_t{0}, int64_t{1}, SlotWidth(level) / 2}) {
          if (slots * SlotWidth(level) >= kNever - start - std::abs(offset)) continue;
          const int64_t deadline = start + slots * SlotWidth(level) + offset;
          CAPTURE(deadline);
          TimerWheel wheel;
          AdvanceTo(wheel, start);
          TimerNode node, close_before, close_behind;
          wheel.Insert(node, deadline);
          wheel.Insert(close_before, deadline - 1);
          wheel.Insert(close_behind, deadline + 1);
          // Through some points on the way, so that the wheel moves in steps of all sizes.
          for (int64_t rest = (deadline - start) / 2; rest > 1; rest /= 3) {
            REQUIRE(AdvanceTo(wheel, deadline - 1 - rest).empty());
            REQUIRE(wheel.NextExpiry() == deadline - 1);
          }
          REQUIRE(AdvanceTo(wheel, deadline - 1) == std::vector<TimerNode*>{&close_before});
          REQUIRE(AdvanceTo(wheel, deadline) == std::vector<TimerNode*>{&node});
          REQUIRE(AdvanceTo(wheel, deadline + 1) == std::vector<TimerNode*>{&close_behind});
        }
      }
    }
  }
}

TEST_CASE("timer_wheel: a far timer needs one wake-up, not one for each level") {
  TimerWheel wheel;
  AdvanceTo(wheel, 17 * kSecond);
  TimerNode node;
  wheel.Insert(node, 10 * kYear + 4321);
  CHECK(wheel.NextExpiry() == 10 * kYear + 4321);
  CHECK(AdvanceTo(wheel, wheel.NextExpiry()).size() == 1);
}

TEST_CASE("timer_wheel: waking in vain for removed timers ends") {
  TimerWheel wheel;
  TimerNode removed, kept;
  wheel.Insert(removed, 5 * kSecond);
  wheel.Insert(kept, 5 * kSecond + kSecond / 10);
  wheel.Remove(removed);
  int wakes = 0;
  while (wheel.size() != 0) {
    ++wakes;
    const int64_t next = wheel.NextExpiry();
    REQUIRE(next <= kept.deadline());
    AdvanceTo(wheel, next);
  }
  CHECK(wakes <= 2);
}

TEST_CASE("timer_wheel: removing the last timer of a slot leaves nothing to wake for") {
  TimerWheel wheel;
  TimerNode node;
  for (int level = 0; level < 8; ++level) {
    wheel.Insert(node, SlotWidth(level));
    wheel.Remove(node);
    CHECK_FALSE(node.linked());
    CHECK(wheel.NextExpiry() == kNever);
    CHECK(wheel.size() == 0);
  }
}

TEST_CASE("timer_wheel: equal deadlines keep their order, whatever levels they came through") {
  constexpr int64_t kDeadline = 5 * kSecond + 777;
  TimerWheel wheel;
  TimerNode nodes[8];
  std::vector<TimerNode*> expected;
  int64_t before = 4 * kSecond;
  for (TimerNode& node : nodes) {  // each from nearer, so that it starts on a lower level
    wheel.Insert(node, kDeadline);
    expected.push_back(&node);
    REQUIRE(AdvanceTo(wheel, kDeadline - before).empty());
    before /= 8;
  }
  CHECK(AdvanceTo(wheel, kDeadline) == expected);
}

TEST_CASE("timer_wheel: a long step hands out in the order of ticks") {
  TimerWheel wheel;
  std::vector<std::unique_ptr<TimerNode>> nodes;
  std::mt19937_64 random(1);
  for (int i = 0; i < 5'000; ++i) {
    nodes.push_back(std::make_unique<TimerNode>());
    wheel.Insert(*nodes.back(), static_cast<int64_t>(random() % (3600 * kSecond)));
  }
  int64_t last_tick = 0;
  const size_t count = wheel.Advance(3600 * kSecond, [&](TimerNode& node) {
    const int64_t tick = node.deadline() / kTimerTick;
    CHECK(tick >= last_tick);
    last_tick = tick;
  });
  CHECK(count == nodes.size());
}

TEST_CASE("timer_wheel: a node may be inserted again while the wheel advances") {
  TimerWheel wheel;
  TimerNode periodic;
  wheel.Insert(periodic, kSecond);
  std::vector<int64_t> fired;
  const size_t count = wheel.Advance(10 * kSecond, [&](TimerNode& node) {
    fired.push_back(node.deadline());
    wheel.Insert(node, node.deadline() + kSecond);
  });
  CHECK(count == 10);
  CHECK(fired.front() == kSecond);
  CHECK(fired.back() == 10 * kSecond);
  CHECK(wheel.NextExpiry() == 11 * kSecond);
  wheel.Remove(periodic);
}

TEST_CASE("timer_wheel: draining stops when the budget is spent and goes on where it was") {
  for (const int64_t deadline : {kTimerTick / 2, 100 * kTimerTick, 5 * kSecond, kYear}) {
    CAPTURE(deadline);
    TimerWheel wheel;
    TimerNode nodes[10], added, apart;
    for (TimerNode& node : nodes) wheel.Insert(node, deadline);
    std::vector<TimerNode*> expired;
    bool removed = false;
    bool inserted = false;
    size_t calls = 0;
    while (wheel.size() != 0) {
      REQUIRE(++calls < 1'000);
      size_t budget = 3;
      while (TimerNode* node = wheel.PopDue(deadline, budget)) expired.push_back(node);
      REQUIRE((budget == 0 || wheel.size() == 0));
      if (!removed) {  // from the middle of the slot that is being drained
        REQUIRE(nodes[7].linked());
        wheel.Remove(nodes[7]);
        removed = true;
      } else if (!inserted) {
        wheel.Insert(added, deadline);
        wheel.Insert(apart, deadline + kYear);
        wheel.Remove(apart);
        inserted = true;
      }
      if (wheel.size() != 0) CHECK(wheel.NextExpiry() <= deadline);
    }
    REQUIRE(expired.size() == 10);
    CHECK(expired.back() == &added);
    CHECK(std::find(expired.begin(), expired.end(), &nodes[7]) == expired.end());
  }
}

// Everything that can be done, at random, against an ordered map that does the same.
TEST_CASE("timer_wheel: behaves as an ordered map") {
  const uint64_t seed = Seed();
  MESSAGE("ERGON_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  // Uniform in the number of bits, so that all levels take part.
  const auto any_duration = [&](int bits) {
    return static_cast<int64_t>(random() >> 1 >> (63 - 1 - below(bits)));
  };

  for (int round = 0; round < 40; ++round) {
    const int most_bits = round % 2 == 0 ? 60 : 34;
    TimerWheel wheel;
    std::vector<std::unique_ptr<TimerNode>> nodes;
    for (int i = 0; i < 200; ++i) nodes.push_back(std::make_unique<TimerNode>());
    std::multimap<int64_t, TimerNode*> model;
    const auto forget = [&](TimerNode& node) {
      auto [first, last] = model.equal_range(node.deadline());
      const auto found =
          std::find_if(first, last, [&](auto& pair) { return pair.second == &node; });
      REQUIRE(found != last);
      model.erase(found);
    };
    int64_t now = round % 4 < 2 ? 0 : any_duration(50);

    for (int step = 0; step < 3'000; ++step) {
      TimerNode& node = *nodes[static_cast<size_t>(below(static_cast<int64_t>(nodes.size())))];
      const int64_t choice = below(100);
      if (choice < 60) {
        if (node.linked()) {
          forget(node);
          wheel.Remove(node);
        } else {
          const int64_t duration = any_duration(most_bits);
          const int64_t deadline = choice < 5                ? std::max<int64_t>(now - duration, 0)
                                   : duration > kNever - now ? kNever
                                                             : now + duration;
          wheel.Insert(node, deadline);
          model.emplace(deadline, &node);
        }
      } else if (choice < 80) {  // some of what is due, perhaps nothing of it
        size_t budget = static_cast<size_t>(below(5));
        while (TimerNode* due = wheel.PopDue(now, budget)) {
          REQUIRE(due->deadline() <= now);
          REQUIRE_FALSE(due->linked());
          forget(*due);
        }
      } else {
        const int64_t duration = any_duration(most_bits);
        now = choice < 90                ? std::max(now, std::min(wheel.NextExpiry(), kNever - 1))
              : duration >= kNever - now ? now
                                         : now + duration;
        size_t budget = kUnlimited;
        while (TimerNode* due = wheel.PopDue(now, budget)) {
          REQUIRE(due->deadline() <= now);
          forget(*due);
        }
        REQUIRE((model.empty() || model.begin()->first > now));
        REQUIRE(wheel.NextExpiry() > now);
      }
      REQUIRE(wheel.size() == model.size());
      if (model.empty()) {
        REQUIRE(wheel.NextExpiry() == kNever);
      } else {
        REQUIRE(wheel.NextExpiry() <= model.begin()->first);
      }
    }
    for (const auto& [deadline, node] : model) wheel.Remove(*node);
    REQUIRE(wheel.NextExpiry() == kNever);
  }
}

}  // namespace
}  // namespace ergon::core::timer_wheel_test
