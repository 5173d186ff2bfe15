#include <ergon/act/pool/routing.h>

#include <doctest/doctest.h>

namespace ergon::act {
namespace {

using namespace std::chrono_literals;
using Action = PoolRouting::Action;

constexpr std::int64_t kOneSecond = 1'000'000'000;

gen::PID Pid(std::uint64_t id) { return {id, "test@localhost", 1}; }

// Workers 1..size, started at 0.
PoolRouting MakeRouting(std::uint64_t size, const PoolOptions& options = {}) {
  PoolRouting routing(options);
  for (std::uint64_t id = 1; id <= size; ++id) routing.Joined(Pid(id), 0);
  return routing;
}

TEST_CASE("pool routing: a worker's replacement takes its place") {
  PoolRouting routing = MakeRouting(3);
  const auto decision = routing.WorkerEnded(Pid(2), 0, 2 * kOneSecond);
  CHECK(decision.action == Action::kReplace);
  CHECK(routing.members().ready() == 2);
  CHECK(routing.members().pending() == 1);
  CHECK(routing.members().staying() == 3);
  CHECK(routing.members().alive() == 2);

  REQUIRE(routing.Spawned(decision.member, Pid(20)));
  CHECK(routing.members().alive() == 3);
  CHECK(routing.members().ready() == 2);
  const auto entrance = routing.WorkerStarted(Pid(20), 3 * kOneSecond);
  CHECK(entrance.replaced == 2);
  CHECK(entrance.entry == 20);
  CHECK(routing.members().ready() == 3);
}

TEST_CASE("pool routing: a place that fails again and again still knows its entry") {
  PoolRouting routing = MakeRouting(1);
  auto decision = routing.WorkerEnded(Pid(1), 0, 1);
  CHECK(decision.action == Action::kReplace);
  REQUIRE(routing.Spawned(decision.member, Pid(2)));
  decision = routing.WorkerEnded(Pid(2), 0, 2);  // its Init has failed
  CHECK(decision.action == Action::kReplaceAfter);
  CHECK(decision.delay == 10ms);
  decision = routing.SpawnFailed(decision.member, 3);
  CHECK(decision.action == Action::kReplaceAfter);
  CHECK(decision.delay == 20ms);
  CHECK(routing.IsVacant(decision.member));
  REQUIRE(routing.Spawned(decision.member, Pid(3)));
  CHECK_FALSE(routing.IsVacant(decision.member));
  CHECK_FALSE(routing.Spawned(decision.member, Pid(4)));  // taken
  const auto entrance = routing.WorkerStarted(Pid(3), 4);
  CHECK(entrance.replaced == 1);
  CHECK(entrance.entry == 3);
}

TEST_CASE("pool routing: notices of strangers and late ones do nothing") {
  PoolRouting routing = MakeRouting(2);
  CHECK(routing.WorkerEnded(Pid(9), 0, 0).action == Action::kNothing);
  CHECK(routing.WorkerEnded(gen::PID(), 0, 0).action == Action::kNothing);
  CHECK(routing.WorkerStarted(Pid(9), 0).entry == 0);
  CHECK(routing.WorkerStarted(Pid(1), 0).entry == 0);  // it is ready
  CHECK(routing.SpawnFailed(99, 0).action == Action::kNothing);
  const auto decision = routing.WorkerEnded(Pid(1), 0, 0);
  CHECK(routing.WorkerEnded(Pid(1), 0, 0).action == Action::kNothing);  // twice
  REQUIRE(routing.Spawned(decision.member, Pid(3)));
  CHECK(routing.WorkerStarted(Pid(1), 0).entry == 0);
  CHECK(routing.WorkerEnded(Pid(1), 0, 0).action == Action::kNothing);
  CHECK(routing.members().staying() == 2);
  // Another incarnation's worker with the same number.
  CHECK(routing.WorkerEnded({2, "test@localhost", 2}, 0, 0).action == Action::kNothing);
}

TEST_CASE("pool routing: each place has a back-off of its own") {
  PoolRouting routing = MakeRouting(2);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    const auto decision = routing.WorkerEnded(Pid(id), 0, 5);
    CHECK(decision.action == Action::kReplace);
  }
}

TEST_CASE("pool routing: too many restarts") {
  PoolRouting routing = MakeRouting(2, {.max_restarts = 1});
  CHECK(routing.WorkerEnded(Pid(1), 0, 5).action == Action::kReplace);
  CHECK(routing.WorkerEnded(Pid(2), 0, 6).action == Action::kGiveUp);
  CHECK(routing.GiveUpText() == "worker restarts: 2 within 5000 ms exceed max_restarts 1");
}

TEST_CASE("pool routing: growing within the limit") {
  PoolRouting routing = MakeRouting(3);
  CHECK(routing.CheckGrowth(1));
  CHECK(routing.CheckGrowth(9'997));
  CHECK(routing.CheckGrowth(9'998).error() == gen::ErrIncorrect);
  CHECK(routing.CheckGrowth(0).error().ToString().find("AddWorkers: 0 workers") !=
        std::string::npos);
  CHECK(routing.CheckGrowth(-1).error() == gen::ErrIncorrect);
}

TEST_CASE("pool routing: shrinking takes those whose turn is next") {
  PoolRouting routing = MakeRouting(4);
  const auto departure = routing.Shrink(2, {3, 4, 1, 2}, true);
  REQUIRE(departure);
  CHECK(departure->workers == std::vector<gen::PID>{Pid(3), Pid(4)});
  CHECK(departure->remaining == std::vector<std::uint64_t>{1, 2});
  CHECK(routing.members().staying() == 2);
  CHECK(routing.members().leaving() == 2);
  CHECK(routing.members().alive() == 4);
  // They are not replaced.
  CHECK(routing.WorkerEnded(Pid(3), 0, 0).action == Action::kNothing);
  CHECK(routing.WorkerEnded(Pid(4), 0, 0).action == Action::kNothing);
  CHECK(routing.members().alive() == 2);
  CHECK(routing.members().leaving() == 0);
}

TEST_CASE("pool routing: a shrink is done as a whole or refused") {
  PoolRouting routing = MakeRouting(3);
  const std::vector<std::uint64_t> order{1, 2, 3};
  for (const int count : {-1, 0, 3, 4, 1000}) {
    CAPTURE(count);
    const auto departure = routing.Shrink(count, order, true);
    REQUIRE_FALSE(departure);
    CHECK(departure.error() == gen::ErrIncorrect);
    CHECK(departure.error().ToString().find(std::to_string(count)) != std::string::npos);
    CHECK(routing.members().staying() == 3);
    CHECK(routing.members().leaving() == 0);
  }
}

TEST_CASE("pool routing: vacant and starting places can be removed") {
  PoolRouting routing = MakeRouting(3);
  const auto first = routing.WorkerEnded(Pid(1), 0, 0);
  const auto second = routing.WorkerEnded(Pid(2), 0, 0);
  REQUIRE(routing.Spawned(second.member, Pid(20)));
  const auto departure = routing.Shrink(2, {1, 2, 3}, true);
  REQUIRE(departure);
  CHECK(departure->workers == std::vector<gen::PID>{Pid(20)});
  CHECK(departure->remaining == std::vector<std::uint64_t>{3});
  CHECK_FALSE(routing.Spawned(first.member, Pid(10)));  // its timer comes too late
  CHECK(routing.WorkerStarted(Pid(20), 0).entry == 0);  // it leaves as soon as it is there
  CHECK(routing.members().staying() == 1);
  CHECK(routing.members().pending() == 0);
}

TEST_CASE("pool routing: a worker that has handled a message is replaced at once, each time") {
  PoolRouting routing = MakeRouting(1);
  std::uint64_t id = 1;
  for (; id < 10; ++id) {
    const auto decision = routing.WorkerEnded(Pid(id), 1, 0);
    REQUIRE(decision.action == Action::kReplace);
    REQUIRE(routing.Spawned(decision.member, Pid(id + 1)));
    REQUIRE(routing.WorkerStarted(Pid(id + 1), 0).entry == id + 1);
  }
  // It fails with its first message: at once, later, and after a success at once again.
  for (const std::uint64_t handled : {0, 0, 1, 0, 0}) {
    const auto decision = routing.WorkerEnded(Pid(id), handled, 0);
    const bool is_second = handled == 0 && (id == 11 || id == 14);
    CHECK(decision.action == (is_second ? Action::kReplaceAfter : Action::kReplace));
    REQUIRE(routing.Spawned(decision.member, Pid(id + 1)));
    REQUIRE(routing.WorkerStarted(Pid(++id), 0).entry == id);
  }
}

TEST_CASE("pool routing: at the end nobody is replaced as long as another one is ready") {
  PoolRouting routing = MakeRouting(3);
  const auto vacant = routing.WorkerEnded(Pid(1), 0, 0);
  const auto starting = routing.WorkerEnded(Pid(2), 0, 0);
  REQUIRE(routing.Spawned(starting.member, Pid(20)));
  const auto remnant = routing.BeginStop();
  CHECK(remnant.vacant.empty());
  CHECK(remnant.leaving == std::vector<gen::PID>{Pid(20)});
  CHECK_FALSE(routing.Spawned(vacant.member, Pid(10)));
  CHECK(routing.WorkerStarted(Pid(20), 0).entry == 0);
  CHECK(routing.members().staying() == 1);
  CHECK(routing.members().alive() == 2);
  CHECK(routing.WorkerEnded(Pid(20), 0, 0).action == Action::kNothing);
  // The last one is: there may be work left.
  CHECK(routing.WorkerEnded(Pid(3), 0, 0).action == Action::kReplace);
}

TEST_CASE("pool routing: at the end vacant places are filled if nobody is ready") {
  PoolRouting routing = MakeRouting(2);
  const auto first = routing.WorkerEnded(Pid(1), 0, 0);
  REQUIRE(routing.Spawned(first.member, Pid(10)));
  CHECK(routing.WorkerEnded(Pid(10), 0, 0).action == Action::kReplaceAfter);
  const auto second = routing.WorkerEnded(Pid(2), 0, 0);
  REQUIRE(routing.Spawned(second.member, Pid(20)));  // it starts
  const auto remnant = routing.BeginStop();
  CHECK(remnant.vacant == std::vector<std::uint64_t>{first.member});
  CHECK(remnant.leaving.empty());
  CHECK(routing.WorkerStarted(Pid(20), 0).entry == 20);
  CHECK(routing.Dismiss() == std::vector<gen::PID>{Pid(20)});
  CHECK(routing.members().staying() == 0);
  CHECK(routing.members().alive() == 1);
  CHECK(routing.Dismiss().empty());
}

TEST_CASE("pool routing: one more worker for what was left behind at the end") {
  PoolRouting routing = MakeRouting(1, {.max_restarts = 2});
  (void)routing.BeginStop();
  (void)routing.Dismiss();
  CHECK(routing.WorkerEnded(Pid(1), 0, 0).action == Action::kNothing);
  const auto decision = routing.AddWorker(0);
  REQUIRE(decision.action == Action::kReplace);
  REQUIRE(routing.Spawned(decision.member, Pid(2)));
  CHECK(routing.members().staying() == 1);
  const auto entrance = routing.WorkerStarted(Pid(2), 0);
  CHECK(entrance.replaced == 0);
  CHECK(entrance.entry == 2);
  CHECK(routing.AddWorker(0).action == Action::kReplace);
  CHECK(routing.AddWorker(0).action == Action::kGiveUp);
  routing.StopReplacing();
  CHECK(routing.AddWorker(0).action == Action::kNothing);
  CHECK(routing.members().staying() == 1);
  CHECK(routing.WorkerEnded(Pid(2), 7, 0).action == Action::kNothing);
  CHECK(routing.members().alive() == 0);
}

}  // namespace
}  // namespace ergon::act
