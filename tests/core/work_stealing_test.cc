#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/queues/run_queue.h>
#include <ergon/core/work_stealing.h>
#include "turns.h"

namespace ergon::core::work_stealing_test {
namespace {

using testing::Eventually;
using testing::kDeadlineNs;
using testing::kSanitized;
using testing::Turn;

std::vector<std::unique_ptr<Turn>> CountingTurns(int count, std::atomic<int>& ran) {
  std::vector<std::unique_ptr<Turn>> turns;
  for (int i = 0; i < count; ++i) {
    turns.push_back(std::make_unique<Turn>([&ran] {
      ++ran;
      return TurnEnd::kCompleted;
    }));
  }
  return turns;
}

// A turn makes others ready and then blocks its thread until all of them have run.
void CheckOthersRunWhatABlockedWorkerHas(int count) {
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> ran{0};
    auto turns = CountingTurns(count, ran);
    Event done;
    bool all = false;
    Turn blocker([&] {
      for (auto& turn : turns) dispatcher->Schedule(*turn);
      all = Eventually([&] { return ran.load() == count; });
      done.Set();
      return TurnEnd::kCompleted;
    });
    dispatcher->Schedule(blocker);
    done.Wait();
    CHECK(all);
  }
  if (count > 1) CHECK(dispatcher->Stats().steals > 0);
}

TEST_CASE("work stealing: a blocked worker's slot is run by another") {
  CheckOthersRunWhatABlockedWorkerHas(1);
}

bool AllSleepForGood(const Dispatcher& dispatcher) {
  // Longer than a rescuer's time-out: without a wake-up meanwhile, nobody sleeps with one.
  constexpr std::chrono::milliseconds kWindow(50);
  return Eventually([&] {
    const std::uint64_t wakeups = dispatcher.Stats().wakeups;
    std::this_thread::sleep_for(kWindow);
    return dispatcher.Stats().wakeups == wakeups;
  });
}

TEST_CASE("work stealing: the slot of one that blocks when all the others sleep for good") {
  auto dispatcher = MakeWorkStealing({.workers = 3});
  REQUIRE(dispatcher->Start(nullptr));
  for (int round = 0; round < 3; ++round) {
    REQUIRE(AllSleepForGood(*dispatcher));
    Event ran;
    bool in_time = false;
    Turn stranded([&] {
      ran.Set();
      return TurnEnd::kCompleted;
    });
    Event done;
    Turn blocker([&] {
      dispatcher->Schedule(stranded);
      in_time = ran.WaitFor(kDeadlineNs);
      done.Set();
      return TurnEnd::kCompleted;
    });
    dispatcher->Schedule(blocker);
    done.Wait();
    CHECK(in_time);
  }
  CHECK(dispatcher->Stop() == "");
}

TEST_CASE("work stealing: the slot of one that blocks, when who is woken blocks, too") {
  auto dispatcher = MakeWorkStealing({.workers = 3});
  REQUIRE(dispatcher->Start(nullptr));
  for (int round = 0; round < 5; ++round) {
    REQUIRE(AllSleepForGood(*dispatcher));
    Event ran;
    Turn stranded([&] {
      ran.Set();
      return TurnEnd::kCompleted;
    });
    std::atomic<bool> in_time{true};
    std::atomic<int> blocked{2};
    Event done;
    const auto block = [&] {
      if (!ran.WaitFor(kDeadlineNs)) in_time = false;
      if (--blocked == 0) done.Set();
      return TurnEnd::kCompleted;
    };
    Turn beside(block);
    Turn first([&] {
      dispatcher->Schedule(beside);
      dispatcher->Schedule(stranded);  // `beside` goes out of the slot, and another worker is woken
      return block();
    });
    dispatcher->Schedule(first);
    done.Wait();
    CHECK(in_time);
  }
  CHECK(dispatcher->Stop() == "");
}

TEST_CASE("work stealing: a blocked worker's ring is run by another") {
  CheckOthersRunWhatABlockedWorkerHas(100);
}

TEST_CASE("work stealing: a blocked worker's overflow is run by another") {
  CheckOthersRunWhatABlockedWorkerHas(2 * kRingCapacity);
}

TEST_CASE("work stealing: all but one blocked, the rest runs everything") {
  constexpr int kWorkers = 4;
  auto dispatcher = MakeWorkStealing({.workers = kWorkers});
  REQUIRE(dispatcher->Start(nullptr));
  std::atomic<int> ran{0};
  std::atomic<int> blocked{0};
  std::atomic<bool> release{false};
  std::atomic<bool> timed_out{false};
  auto turns = CountingTurns(kWorkers - 1, ran);
  std::vector<std::unique_ptr<Turn>> blockers;
  for (std::size_t i = 0; i < kWorkers - 1; ++i) {
    blockers.push_back(std::make_unique<Turn>([&, i] {
      dispatcher->Schedule(*turns[i]);  // into the slot: wakes nobody
      ++blocked;
      if (!Eventually([&] { return release.load(); })) timed_out = true;
      return TurnEnd::kCompleted;
    }));
    dispatcher->Schedule(*blockers.back());
  }
  CHECK(Eventually([&] { return blocked.load() == kWorkers - 1; }));
  CHECK(Eventually([&] { return ran.load() == kWorkers - 1; }));
  release = true;
  CHECK(dispatcher->Stop() == "");
  CHECK_FALSE(timed_out);
}

TEST_CASE("work stealing: work stranded while stopping is run too") {
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  std::atomic<int> ran{0};
  auto turns = CountingTurns(50, ran);
  bool all = false;
  Turn blocker([&] {
    dispatcher->SignalStop();
    for (auto& turn : turns) dispatcher->Schedule(*turn);
    all = Eventually([&] { return ran.load() == 50; });
    return TurnEnd::kCompleted;
  });
  dispatcher->Schedule(blocker);
  CHECK(Eventually([&] { return ran.load() == 50; }));
  CHECK(dispatcher->Stop() == "");
  CHECK(all);
}

TEST_CASE("work stealing: a turn that yields alone is not handed around") {
  auto dispatcher = MakeWorkStealing({.workers = 2});
  REQUIRE(dispatcher->Start(nullptr));
  Event done;
  int turns = 0;
  int moves = 0;
  int last = -1;
  Turn turn([&] {
    const int here = Worker::Current()->index();
    moves += last != -1 && last != here;
    last = here;
    if (++turns < 10'000) return TurnEnd::kYielded;
    done.Set();
    return TurnEnd::kCompleted;
  });
  dispatcher->Schedule(turn);
  REQUIRE(done.WaitFor(kDeadlineNs));
  CHECK(moves == 0);
}

// What comes from outside makes something ready that uses up its budget once. With each of these waiting for all that
// comes, a thousand senders would send before the first receiver gets its second turn.
TEST_CASE("work stealing: what has used up its budget goes on, however much comes from outside") {
  constexpr int kMany = 500;
  constexpr int kMostWaiting = 4;
  auto dispatcher = MakeWorkStealing({.workers = 1});
  std::atomic<int> done{0};
  int waiting = 0;
  int most_waiting = 0;
  std::vector<std::unique_ptr<Turn>> turns;
  for (int i = 0; i < kMany; ++i) {
    turns.push_back(std::make_unique<Turn>([&, is_first = true]() mutable {
      if (std::exchange(is_first, false)) {
        most_waiting = std::max(most_waiting, ++waiting);
        return TurnEnd::kYielded;
      }
      --waiting;
      ++done;
      return TurnEnd::kCompleted;
    }));
    Turn& inside = *turns.back();
    turns.push_back(std::make_unique<Turn>([&] {
      dispatcher->Schedule(inside);
      return TurnEnd::kCompleted;
    }));
    dispatcher->Schedule(*turns.back());
  }
  REQUIRE(dispatcher->Start(nullptr));
  CHECK(Eventually([&] { return done.load() == kMany; }));
  CHECK(dispatcher->Stop() == "");
  CHECK(most_waiting <= kMostWaiting);
}

// Everything at once: each turn hands its ball on to a pseudo-random other player.
TEST_CASE("work stealing: many balls, each hop once") {
  constexpr int kPlayers = 600;
  constexpr int kBalls = 64;
  constexpr int kHops = kSanitized ? 300 : 5'000;
  struct Player final : Schedulable {
    TurnEnd RunTurn() override {
      // The idle transition of a mailbox, in small.
      for (int handled = 0; handled < 8; ++handled) {
        const int balls_here = waiting.load();
        if (balls_here == 0) break;
        total->fetch_add(1);
        seed = seed * 1664525u + 1013904223u;
        if (total->load() <= kBalls * kHops) players[(seed >> 8) % kPlayers].Receive();
        if (waiting.fetch_sub(1) == 1) return TurnEnd::kIdle;
      }
      return TurnEnd::kYielded;
    }
    void Receive() {
      if (waiting.fetch_add(1) == 0) dispatcher->Schedule(*this);
    }
    std::atomic<int> waiting{0};
    unsigned seed = 0;
    std::atomic<std::int64_t>* total = nullptr;
    Player* players = nullptr;
    Dispatcher* dispatcher = nullptr;
  };
  std::atomic<std::int64_t> total{0};
  std::vector<Player> players(kPlayers);
  auto dispatcher = MakeWorkStealing({.workers = 4});
  for (unsigned i = 0; i < kPlayers; ++i) {
    players[i].seed = i * 7919;
    players[i].total = &total;
    players[i].players = players.data();
    players[i].dispatcher = dispatcher.get();
  }
  REQUIRE(dispatcher->Start(nullptr));
  for (int i = 0; i < kBalls; ++i) players[static_cast<std::size_t>(i) * 7].Receive();
  CHECK(Eventually([&] {
    if (total.load() < kBalls * kHops) return false;
    for (auto& player : players) {
      if (player.waiting.load() != 0) return false;
    }
    return true;
  }));
  CHECK(dispatcher->Stop() == "");
}

}  // namespace
}  // namespace ergon::core::work_stealing_test
