// Pools that keep their number of workers themselves, on a node with threads.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

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
  CHECK(inspection.at("autoscale") == "1..4 workers, a wait of 10 ms");
  CHECK(inspection.at("autoscale.1").find("have been enough for 1 s (") != std::string::npos);
  CHECK(pool.Stats()["messages_lost"] == 0);
}

TEST_CASE("Autoscale: rest, and messages that end it from several threads: each is handled once") {
  constexpr int kSenders = 4;
  constexpr int kEach = kit::Scaled(20'000, 10);
  for (const auto& strategy : {act::PoolStrategy::Rotation(), act::PoolStrategy::SharedQueue()}) {
    const kit::ManualTime time;
    kit::NodeFixture fixture(time.Into());
    auto tally = std::make_shared<kit::Tally>(kSenders * kEach);
    auto options = fixture.Options(2);
    options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
    options.strategy = strategy;
    options.autoscale = act::PoolAutoscale{.min = 1, .max = 6, .shrink_after = 1s};
    auto pool = fixture.StartPool(options);
    kit::Threads senders;
    std::atomic<int> sending{kSenders};
    for (int s = 0; s < kSenders; ++s) {
      senders.Start([&, to = pool.pid(), s] {
        for (int i = 0; i < kEach; ++i) {
          fixture.node.Send(to, kit::Numbered{s * kEach + i}).value();
          if (i % 100 == 0) std::this_thread::yield();
        }
        --sending;
      });
    }
    // A second or more between two messages.
    while (sending > 0) time.Pass(200ms);
    senders.Join();
    CHECK(pool.EventuallyHandled(kSenders * kEach));
    CHECK(tally->EachOnce());
    CHECK(pool.Stats()["messages_forwarded"] == kSenders * kEach);
    CHECK(time.PassUntil([&] { return pool.Size() == 1; }, 100ms));
  }
}

}  // namespace ergon::autoscale_test
