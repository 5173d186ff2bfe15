#include <ergon/act/pool/replacement.h>

#include <doctest/doctest.h>

namespace ergon::act {
namespace {

using namespace std::chrono_literals;
using Action = PoolReplacement::Action;

constexpr std::int64_t kOneSecond = 1'000'000'000;

gen::PID Pid(std::uint64_t id) { return {id, "test@localhost", 1}; }

// Workers 1..size, started at 0.
PoolReplacement MakeReplacement(std::uint64_t size, const PoolOptions& options = {}) {
  PoolReplacement replacement(options);
  for (std::uint64_t id = 1; id <= size; ++id) replacement.Joined(Pid(id), 0);
  return replacement;
}

TEST_CASE("pool replacement: a worker's replacement takes its place") {
  PoolReplacement replacement = MakeReplacement(3);
  const auto decision = replacement.WorkerEnded(Pid(2), 0, 2 * kOneSecond);
  CHECK(decision.action == Action::kReplace);
  CHECK(replacement.members().ready() == 2);
  CHECK(replacement.members().pending() == 1);
  CHECK(replacement.members().staying() == 3);
  CHECK(replacement.members().alive() == 2);

  REQUIRE(replacement.Spawned(decision.member, Pid(20)));
  CHECK(replacement.members().alive() == 3);
  CHECK(replacement.members().ready() == 2);
  const auto entrance = replacement.WorkerStarted(Pid(20), 3 * kOneSecond);
  CHECK(entrance.replaced == 2);
  CHECK(entrance.entry == 20);
  CHECK(replacement.members().ready() == 3);
}

TEST_CASE("pool replacement: a place that fails again and again still knows its entry") {
  PoolReplacement replacement = MakeReplacement(1);
  auto decision = replacement.WorkerEnded(Pid(1), 0, 1);
  CHECK(decision.action == Action::kReplace);
  REQUIRE(replacement.Spawned(decision.member, Pid(2)));
  decision = replacement.WorkerEnded(Pid(2), 0, 2);  // its Init has failed
  CHECK(decision.action == Action::kReplaceAfter);
  CHECK(decision.delay == 10ms);
  decision = replacement.SpawnFailed(decision.member, 3);
  CHECK(decision.action == Action::kReplaceAfter);
  CHECK(decision.delay == 20ms);
  CHECK(replacement.IsVacant(decision.member));
  REQUIRE(replacement.Spawned(decision.member, Pid(3)));
  CHECK_FALSE(replacement.IsVacant(decision.member));
  CHECK_FALSE(replacement.Spawned(decision.member, Pid(4)));  // taken
  const auto entrance = replacement.WorkerStarted(Pid(3), 4);
  CHECK(entrance.replaced == 1);
  CHECK(entrance.entry == 3);
}

TEST_CASE("pool replacement: notices of strangers and late ones do nothing") {
  PoolReplacement replacement = MakeReplacement(2);
  CHECK(replacement.WorkerEnded(Pid(9), 0, 0).action == Action::kNothing);
  CHECK(replacement.WorkerEnded(gen::PID(), 0, 0).action == Action::kNothing);
  CHECK(replacement.WorkerStarted(Pid(9), 0).entry == 0);
  CHECK(replacement.WorkerStarted(Pid(1), 0).entry == 0);  // it is ready
  CHECK(replacement.SpawnFailed(99, 0).action == Action::kNothing);
  const auto decision = replacement.WorkerEnded(Pid(1), 0, 0);
  CHECK(replacement.WorkerEnded(Pid(1), 0, 0).action == Action::kNothing);  // twice
  REQUIRE(replacement.Spawned(decision.member, Pid(3)));
  CHECK(replacement.WorkerStarted(Pid(1), 0).entry == 0);
  CHECK(replacement.WorkerEnded(Pid(1), 0, 0).action == Action::kNothing);
  CHECK(replacement.members().staying() == 2);
  // Another incarnation's worker with the same number.
  CHECK(replacement.WorkerEnded({2, "test@localhost", 2}, 0, 0).action == Action::kNothing);
}

TEST_CASE("pool replacement: each place has a back-off of its own") {
  PoolReplacement replacement = MakeReplacement(2);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const auto decision = replacement.WorkerEnded(Pid(id), 0, 5);
    CHECK(decision.action == Action::kReplace);
  }
}

TEST_CASE("pool replacement: too many restarts") {
  PoolReplacement replacement = MakeReplacement(2, {.max_restarts = 1});
  CHECK(replacement.WorkerEnded(Pid(1), 0, 5).action == Action::kReplace);
  CHECK(replacement.WorkerEnded(Pid(2), 0, 6).action == Action::kGiveUp);
  CHECK(replacement.GiveUpText() == "worker restarts: 2 within 5000 ms exceed max_restarts 1");
}

TEST_CASE("pool replacement: growing within the limit") {
  PoolReplacement replacement = MakeReplacement(3);
  CHECK(replacement.CheckGrowth(1));
  CHECK(replacement.CheckGrowth(9'997));
  CHECK(replacement.CheckGrowth(9'998).error() == gen::ErrIncorrect);
  CHECK(replacement.CheckGrowth(0).error().ToString().find("AddWorkers: 0 workers") !=
        std::string::npos);
  CHECK(replacement.CheckGrowth(-1).error() == gen::ErrIncorrect);
}

TEST_CASE("pool replacement: shrinking takes those whose turn is next") {
  PoolReplacement replacement = MakeReplacement(4);
  const auto departure = replacement.Shrink(2, {3, 4, 1, 2}, true);
  REQUIRE(departure);
  CHECK(departure->workers == std::vector<gen::PID>{Pid(3), Pid(4)});
  CHECK(departure->remaining == std::vector<std::uint64_t>{1, 2});
  CHECK(replacement.members().staying() == 2);
  CHECK(replacement.members().leaving() == 2);
  CHECK(replacement.members().alive() == 4);
  // They are not replaced.
  CHECK(replacement.WorkerEnded(Pid(3), 0, 0).action == Action::kNothing);
  CHECK(replacement.WorkerEnded(Pid(4), 0, 0).action == Action::kNothing);
  CHECK(replacement.members().alive() == 2);
  CHECK(replacement.members().leaving() == 0);
}

TEST_CASE("pool replacement: a shrink is done as a whole or refused") {
  PoolReplacement replacement = MakeReplacement(3);
  const std::vector<std::uint64_t> order{1, 2, 3};
  for (const int count : {-1, 0, 3, 4, 1000}) {
    CAPTURE(count);
    const auto departure = replacement.Shrink(count, order, true);
    REQUIRE_FALSE(departure);
    CHECK(departure.error() == gen::ErrIncorrect);
    CHECK(departure.error().ToString().find(std::to_string(count)) != std::string::npos);
    CHECK(replacement.members().staying() == 3);
    CHECK(replacement.members().leaving() == 0);
  }
}

TEST_CASE("pool replacement: vacant and starting places can be removed") {
  PoolReplacement replacement = MakeReplacement(3);
  const auto first = replacement.WorkerEnded(Pid(1), 0, 0);
  const auto second = replacement.WorkerEnded(Pid(2), 0, 0);
  REQUIRE(replacement.Spawned(second.member, Pid(20)));
  const auto departure = replacement.Shrink(2, {1, 2, 3}, true);
  REQUIRE(departure);
  CHECK(departure->workers == std::vector<gen::PID>{Pid(20)});
  CHECK(departure->remaining == std::vector<std::uint64_t>{3});
  CHECK_FALSE(replacement.Spawned(first.member, Pid(10)));  // its timer comes too late
  CHECK(replacement.WorkerStarted(Pid(20), 0).entry == 0);  // it leaves as soon as it is there
  CHECK(replacement.members().staying() == 1);
  CHECK(replacement.members().pending() == 0);
}

TEST_CASE("pool replacement: a worker that has handled a message is replaced at once, each time") {
  PoolReplacement replacement = MakeReplacement(1);
  std::uint64_t id = 1;
  for (; id < 10; ++id) {
    const auto decision = replacement.WorkerEnded(Pid(id), 1, 0);
    REQUIRE(decision.action == Action::kReplace);
    REQUIRE(replacement.Spawned(decision.member, Pid(id + 1)));
    REQUIRE(replacement.WorkerStarted(Pid(id + 1), 0).entry == id + 1);
  }
  // It fails with its first message: at once, later, and after a success at once again.
  for (const std::uint64_t handled : {0, 0, 1, 0, 0}) {
    const auto decision = replacement.WorkerEnded(Pid(id), handled, 0);
    const bool is_second = handled == 0 && (id == 11 || id == 14);
    CHECK(decision.action == (is_second ? Action::kReplaceAfter : Action::kReplace));
    REQUIRE(replacement.Spawned(decision.member, Pid(id + 1)));
    REQUIRE(replacement.WorkerStarted(Pid(++id), 0).entry == id);
  }
}

TEST_CASE("pool replacement: at the end nobody is replaced as long as another one is ready") {
  PoolReplacement replacement = MakeReplacement(3);
  const auto vacant = replacement.WorkerEnded(Pid(1), 0, 0);
  const auto starting = replacement.WorkerEnded(Pid(2), 0, 0);
  REQUIRE(replacement.Spawned(starting.member, Pid(20)));
  const auto steps = replacement.BeginStop();
  CHECK(steps.vacant.empty());
  CHECK(steps.leaving == std::vector<gen::PID>{Pid(20)});
  CHECK_FALSE(replacement.Spawned(vacant.member, Pid(10)));
  CHECK(replacement.WorkerStarted(Pid(20), 0).entry == 0);
  CHECK(replacement.members().staying() == 1);
  CHECK(replacement.members().alive() == 2);
  CHECK(replacement.WorkerEnded(Pid(20), 0, 0).action == Action::kNothing);
  // The last one is: there may be work left.
  CHECK(replacement.WorkerEnded(Pid(3), 0, 0).action == Action::kReplace);
}

TEST_CASE("pool replacement: at the end vacant places are filled if nobody is ready") {
  PoolReplacement replacement = MakeReplacement(2);
  const auto first = replacement.WorkerEnded(Pid(1), 0, 0);
  REQUIRE(replacement.Spawned(first.member, Pid(10)));
  CHECK(replacement.WorkerEnded(Pid(10), 0, 0).action == Action::kReplaceAfter);
  const auto second = replacement.WorkerEnded(Pid(2), 0, 0);
  REQUIRE(replacement.Spawned(second.member, Pid(20)));  // it starts
  const auto steps = replacement.BeginStop();
  CHECK(steps.vacant == std::vector<std::uint64_t>{first.member});
  CHECK(steps.leaving.empty());
  CHECK(replacement.WorkerStarted(Pid(20), 0).entry == 20);
  CHECK(replacement.Dismiss() == std::vector<gen::PID>{Pid(20)});
  CHECK(replacement.members().staying() == 0);
  CHECK(replacement.members().alive() == 1);
  CHECK(replacement.Dismiss().empty());
}

TEST_CASE("pool replacement: one more worker for what was left behind at the end") {
  PoolReplacement replacement = MakeReplacement(1, {.max_restarts = 2});
  (void)replacement.BeginStop();
  (void)replacement.Dismiss();
  CHECK(replacement.WorkerEnded(Pid(1), 0, 0).action == Action::kNothing);
  const auto decision = replacement.AddWorker(0);
  REQUIRE(decision.action == Action::kReplace);
  REQUIRE(replacement.Spawned(decision.member, Pid(2)));
  CHECK(replacement.members().staying() == 1);
  const auto entrance = replacement.WorkerStarted(Pid(2), 0);
  CHECK(entrance.replaced == 0);
  CHECK(entrance.entry == 2);
  CHECK(replacement.AddWorker(0).action == Action::kReplace);
  CHECK(replacement.AddWorker(0).action == Action::kGiveUp);
  replacement.StopReplacing();
  CHECK(replacement.AddWorker(0).action == Action::kNothing);
  CHECK(replacement.members().staying() == 1);
  CHECK(replacement.WorkerEnded(Pid(2), 7, 0).action == Action::kNothing);
  CHECK(replacement.members().alive() == 0);
}

}  // namespace
}  // namespace ergon::act
