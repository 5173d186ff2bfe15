// Pools that keep their number of workers themselves, on a node with threads.
#include <barrier>
#include <chrono>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/node_fixture.h>
#include <kit/tally.h>
#include <kit/threads.h>

namespace ergon::autoscale_test {

using namespace std::chrono_literals;

TEST_CASE("Autoscale: it grows while messages wait, goes back when they do not, and tells both") {
  const kit::ManualTime time;
  kit::NodeFixture fixture(time.Into());
  auto options = fixture.Options(1);
  options.autoscale = act::PoolAutoscale{.min = 1, .max = 4, .shrink_after = 1s};
  auto pool = fixture.StartPool(options);
  kit::Gate gate(fixture.node);
  for (int i = 0; i < 20; ++i) fixture.node.Send(pool.pid(), kit::Job{i, kit::Hold(gate)}).value();
  CHECK(time.PassUntil([&] { return pool.Size() == 4; }, 10ms));
  CHECK(fixture.log.Count("autoscale: 1 -> ") == 1);
  gate.Open();
  CHECK(time.PassUntil([&] { return pool.Size() == 1; }, 100ms));
  CHECK(pool.EventuallyHandled(20));
  const auto inspection = fixture.node.Inspect(pool.pid(), {"autoscale"}).value();
  CHECK(inspection.at("autoscale").starts_with("1..4 workers, a wait of 10 ms"));
  CHECK(inspection.at("autoscale.1").find("been enough for 1 s (") != std::string::npos);
  CHECK(pool.Stats()["messages_lost"] == 0);
}

TEST_CASE("Autoscale: less patience, from now on") {
  const kit::ManualTime time;
  kit::NodeFixture fixture(time.Into());
  auto options = fixture.Options(4);
  options.autoscale = act::PoolAutoscale{.min = 1, .max = 4, .shrink_after = 24h};
  auto pool = fixture.StartPool(options);
  for (int i = 0; i < 20; ++i) {
    time.Pass(10min);
    CHECK(pool.Size() == 4);
  }
  CHECK(fixture.node
            .Call(pool.pid(), act::PoolChange{.autoscale_shrink_after = 1s},
                  {.priority = gen::MessagePriority::kHigh})
            .value());
  CHECK(time.PassUntil([&] { return pool.Size() == 1; }, 100ms));
}

TEST_CASE("Autoscale: rest, and messages that end it from several threads: each is handled once") {
  constexpr int kSenders = 4;
  constexpr int kEach = 20;  // in each round
  constexpr int kRounds = kit::Scaled(100, 5);
  constexpr int kRound = kSenders * kEach;
  for (const auto& strategy : {act::PoolStrategy::Rotation(), act::PoolStrategy::SharedQueue()}) {
    const kit::ManualTime time;
    kit::NodeFixture fixture(time.Into());
    auto tally = std::make_shared<kit::Tally>(kRounds * kRound);
    auto options = fixture.Options(2);
    options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
    options.strategy = strategy;
    options.autoscale = act::PoolAutoscale{.min = 1, .max = 6, .shrink_after = 1s};
    auto pool = fixture.StartPool(options);
    const auto rests = [&] {
      const auto inspection = fixture.node.Inspect(pool.pid(), {"autoscale"}).value();
      return inspection.at("autoscale").find(", at rest") != std::string::npos;
    };
    std::barrier together(kSenders + 1);
    kit::Threads senders;
    for (int s = 0; s < kSenders; ++s) {
      senders.Start([&, to = pool.pid(), s] {
        for (int round = 0; round < kRounds; ++round) {
          together.arrive_and_wait();
          for (int i = 0; i < kEach; ++i) {
            CHECK(fixture.node.Send(to, kit::Numbered{round * kRound + s * kEach + i}));
          }
        }
      });
    }
    int rested = 0;
    int handled = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (time.PassUntil(rests, 200ms)) ++rested;
      together.arrive_and_wait();
      // It may want to rest while they come.
      if (time.PassUntil([&] { return tally->Total() == (round + 1) * kRound; }, 200ms)) ++handled;
    }
    senders.Join();
    CHECK(rested == kRounds);
    CHECK(handled == kRounds);
    CHECK(pool.EventuallyHandled(kRounds * kRound));
    CHECK(tally->EachOnce());
    CHECK(pool.Stats()["messages_forwarded"] == kRounds * kRound);
    CHECK(time.PassUntil([&] { return pool.Size() == 1; }, 100ms));
  }
}

TEST_CASE(
    "Autoscale: a pool at rest has the room that its workers have, also after a change of that") {
  const kit::ManualTime time;
  kit::NodeFixture fixture(time.Into());
  auto tally = std::make_shared<kit::Tally>(100);
  auto options = fixture.Options(2);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  options.autoscale = act::PoolAutoscale{.min = 2, .max = 4};
  auto pool = fixture.StartPool(options);
  const auto rests = [&] {
    const auto inspection = fixture.node.Inspect(pool.pid(), {"autoscale"}).value();
    return inspection.at("autoscale").find(", at rest") != std::string::npos;
  };
  CHECK(fixture.node.Send(pool.pid(), kit::Numbered{0}));
  REQUIRE(time.PassUntil([&] { return tally->Total() == 1; }, 200ms));
  REQUIRE(time.PassUntil(rests, 200ms));
  CHECK(fixture.node
            .Call(pool.pid(), act::PoolChange{.worker_mailbox_size = 10},
                  {.priority = gen::MessagePriority::kHigh})
            .value());
  // In one turn of a process, before the pool has one.
  kit::ThreadGate gate;
  kit::Threads threads;
  threads.Start([&] {
    CHECK(pool.Run<bool>([enter = gate.Holder()](kit::ManagedPool&) {
      enter();
      return true;
    }));
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i <= 20; ++i) CHECK(fixture.node.Send(pool.pid(), kit::Numbered{i}));
  CHECK(fixture.node.Send(pool.pid(), kit::Numbered{21}).error() == gen::ErrProcessMailboxFull);
  gate.Open();
  threads.Join();
  CHECK(time.PassUntil([&] { return tally->Total() == 21; }, 200ms));
}

}  // namespace ergon::autoscale_test
