// Pools whose workers are pools: what waits in the inner ones when these end or change.
#include <chrono>
#include <future>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/broadcast_answers.h>

#include <kit/manual_time.h>
#include <kit/node_fixture.h>
#include <kit/strategies.h>

namespace ergon::inner_pools_test {
namespace {

using namespace std::chrono_literals;
using act::BroadcastAnswers;
using act::PoolStrategy;
using kit::Answer;
using kit::Ask;
using kit::Eventually;
using kit::ForEachStrategy;
using kit::Job;
using kit::Sequence;
using kit::With;

act::PoolOptions PoolOfPools(const kit::NodeFixture& fixture, const act::PoolOptions& outer,
                             const act::PoolOptions& inner) {
  act::PoolOptions options = outer;
  options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
  options.worker_args = gen::MakeArgs(inner);
  return options;
}

TEST_CASE("Inner pools: what a broadcast left at one that was killed is for its successor only") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(PoolOfPools(
      fixture, With(fixture.Options(2), PoolStrategy::Broadcast<Job, Ask>()), fixture.Options(1)));
  const gen::PID victim = pool.Workers()[0];
  const gen::PID its_worker = fixture.ChildrenOf(victim).at(0);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, {its_worker});
  for (int value = 0; value < 50; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
  auto call =
      fixture.node.CallAsync<BroadcastAnswers>(pool.pid(), Ask{9}, {.timeout = kit::kDeadline});
  REQUIRE(Eventually([&] { return pool.Stats()["messages_forwarded"] == 102; }));
  fixture.node.Kill(victim).value();
  REQUIRE(fixture.EventuallyGone(its_worker));
  gate.Open();
  for (auto& outcome : call.get().value().Take<Answer>()) CHECK(outcome.result.has_value());
  REQUIRE(pool.EventuallyHandled(102));
  CHECK(pool.Stats()["messages_lost"] == 0);
  for (const gen::PID inner : pool.Workers()) {
    CHECK(fixture.workers->jobs.ValuesOf(fixture.ChildrenOf(inner).at(0)) == Sequence(0, 50));
  }
}

TEST_CASE(
    "Inner pools: one that broadcasts and goes on drops what it took out, and tells callers") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(PoolOfPools(
      fixture, fixture.Options(1), With(fixture.Options(2), PoolStrategy::Broadcast<Job, Ask>())));
  kit::PoolHandle inner(fixture.node, pool.Workers()[0]);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, inner.Workers());
  fixture.node.Send(pool.pid(), Job{7}).value();
  auto call =
      fixture.node.CallAsync<BroadcastAnswers>(pool.pid(), Ask{8}, {.timeout = gen::kInfinite});
  REQUIRE(Eventually([&] { return inner.Stats()["messages_queued"] == 4; }));
  inner.ShrinkNow(1).value();
  gate.Open();
  const bool is_told = call.wait_for(kit::kDeadline) == std::future_status::ready;
  CHECK(is_told);
  if (!is_told) (void)fixture.node.Kill(inner.pid());
  (void)call.get();
  REQUIRE(inner.EventuallyAtRest());
  CHECK(inner.Stats()["messages_lost_terminated"] == 2);
  CHECK(fixture.node.MessageBalance().Unaccounted() == 0);
  fixture.node.SendExit(inner.pid(), gen::Reason::Shutdown()).value();
  REQUIRE(fixture.EventuallyGone(inner.pid()));
  REQUIRE(pool.EventuallyComplete(1));
  fixture.node.Call<BroadcastAnswers>(pool.pid(), Ask{9}, {.timeout = kit::kDeadline}).value();
  CHECK(fixture.workers->jobs.Values() == std::vector<int>{-1, -1, 7});
}

TEST_CASE("Inner pools: what waited at one that broadcasts and was killed is not broadcast again") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(PoolOfPools(
      fixture, fixture.Options(2), With(fixture.Options(2), PoolStrategy::Broadcast<Job, Ask>())));
  const gen::PID victim = pool.Workers()[0];
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, fixture.ChildrenOf(victim));
  fixture.node.Send(pool.pid(), Job{7}).value();
  (void)fixture.node.Call<BroadcastAnswers>(pool.pid(), Ask{8}, {.timeout = kit::kDeadline})
      .value();  // the other one's turn
  auto call =
      fixture.node.CallAsync<BroadcastAnswers>(pool.pid(), Ask{9}, {.timeout = kit::kDeadline});
  REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] == 4; }));
  fixture.node.Kill(victim).value();  // its workers' waits end with it
  for (auto& outcome : call.get().value().Take<Answer>()) CHECK_FALSE(outcome.result.has_value());
  REQUIRE(pool.EventuallyComplete(2));
  REQUIRE(Eventually([&] {
    return fixture.node.Info().dropped_terminated == 4 || fixture.workers->calls.size() > 2;
  }));
  REQUIRE(Eventually([&] { return pool.Stats().AtRest(); }));
  CHECK(fixture.workers->calls.Values() == std::vector<int>{8, 8});
  CHECK_FALSE(fixture.workers->jobs.Has(7));
}

TEST_CASE(
    "Inner pools: what an outer pool offers to a full one again and again is refused to nobody") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    const kit::ManualTime time;
    kit::NodeFixture fixture(time.Into());
    auto pool = fixture.StartPool(
        PoolOfPools(fixture, With(fixture.Options(1), strategy), fixture.Options(1, 1)));
    kit::PoolHandle inner(fixture.node, pool.Workers()[0]);
    kit::Gate gate(fixture.node);
    fixture.HoldEach(gate, inner.Workers());
    int accepted = 0;
    for (int i = 0; i < 4; ++i) accepted += fixture.node.Send(pool.pid(), Job{i}).has_value();
    for (int i = 0; i < 50; ++i) {  // the outer one tries every millisecond
      time.Pass(1ms);
      (void)pool.Stats();
    }
    CHECK(inner.Stats()["messages_unhandled"] == 0);
    CHECK(pool.Stats()["messages_unhandled"] == 4 - accepted);
    gate.Open();
    CHECK(time.PassUntil([&] { return pool.Stats()["messages_handled"] == accepted; }, 1ms));
  });
}

TEST_CASE("Inner pools: another bound of the outer one's workers is none of an inner pool's") {
  kit::NodeFixture fixture;
  const auto inner = With(fixture.Options(1, 3), PoolStrategy::Broadcast<Job>());
  auto pool = fixture.StartPool(PoolOfPools(fixture, fixture.Options(1, 100), inner));
  CHECK(pool.Run<bool>([](kit::ManagedPool& self) -> gen::Result<bool> {
              auto changed = self.Change({.worker_mailbox_size = 1});
              if (!changed) return std::move(changed.error());
              return true;
            })
            .value());
  kit::PoolHandle inside(fixture.node, pool.Workers()[0]);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, inside.Workers());
  // Three in the mailbox of its worker, one that it holds and three in its own.
  int accepted = 0;
  REQUIRE(Eventually([&] {
    if (fixture.node.Send(inside.pid(), Job{accepted})) ++accepted;
    return accepted == 7;
  }));
  (void)inside.Stats();
  CHECK_FALSE(fixture.node.Send(inside.pid(), Job{7}));
  gate.Open();
  CHECK(Eventually([&] { return fixture.workers->done.Has(6); }));
}

}  // namespace
}  // namespace ergon::inner_pools_test
