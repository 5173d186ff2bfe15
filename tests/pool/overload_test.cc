// More messages than the workers can take.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/messages/envelope_pool.h>

#include <kit/node_fixture.h>
#include <kit/tally.h>
#include <kit/threads.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using kit::Answer;
using kit::Ask;
using kit::Eventually;
using kit::Hold;
using kit::Job;
using kit::Prober;
using kit::Sequence;

TEST_CASE("A full worker goes to the back and the next is tried, at most once round") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3, 2);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, workers);
  fixture.node.Send(workers[1], Job{-2}).value();  // full from the start
  fixture.node.Send(workers[1], Job{-3}).value();
  CHECK(fixture.node.Send(workers[1], Job{-4}).error() == gen::ErrProcessMailboxFull);

  for (int i = 0; i < 4; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  CHECK(fixture.node.Send(pool.pid(), Job{4}).error() == gen::ErrProcessMailboxFull);
  auto stats = pool.Stats();
  CHECK(stats["messages_queued"] == 6);
  CHECK(stats["messages_forwarded"] == 4);
  CHECK(stats["messages_unhandled"] == 1);
  CHECK(stats.Text("worker_mailbox_size") == "2");

  gate.Open();
  REQUIRE(pool.EventuallyHandled(4));
  CHECK(fixture.workers->jobs.ValuesOf(workers[0]) == std::vector<int>{-1, 0, 2});
  CHECK(fixture.workers->jobs.ValuesOf(workers[1]) == std::vector<int>{-1, -2, -3});
  CHECK(fixture.workers->jobs.ValuesOf(workers[2]) == std::vector<int>{-1, 1, 3});
}

TEST_CASE("a worker's mailbox that grows serves who waits for room at the pool") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1, 1);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, pool.Workers());
  fixture.node.Send(pool.pid(), Job{0}).value();
  std::thread waits([&] { CHECK(fixture.node.SendOrWait(pool.pid(), Job{1}, gen::kInfinite)); });
  const auto change = [&](int messages) {
    return fixture.node.Call(pool.pid(), act::PoolChange{.worker_mailbox_size = messages},
                             {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh});
  };
  CHECK(change(2).value());
  waits.join();
  CHECK(fixture.node.Send(pool.pid(), Job{2}).error() == gen::ErrProcessMailboxFull);
  CHECK(change(-1).error() == gen::ErrIncorrect);
  CHECK(change(3).value());
  CHECK(fixture.node.Send(pool.pid(), Job{2}));
  gate.Open();
  CHECK(pool.EventuallyHandled(3));
}

TEST_CASE("Bounded workers under 4 senders that try again: every message once") {
  constexpr int kSenders = 4;
  constexpr int kEach = kit::Scaled(50'000);
  kit::NodeFixture fixture;
  auto tally = std::make_shared<kit::Tally>(kSenders * kEach);
  auto options = fixture.Options(3, 4);
  options.worker_factory = gen::Factory<kit::TallyWorker>(tally);
  auto pool = fixture.StartPool(options);
  std::atomic<std::int64_t> refused{0};
  std::atomic<bool> other_error{false};
  kit::Threads senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.Start([&, s] {
      for (int i = 0; i < kEach;) {
        const auto sent = fixture.node.Send(pool.pid(), kit::Numbered{s * kEach + i});
        if (sent) {
          ++i;
        } else {
          if (sent.error() != gen::ErrProcessMailboxFull) other_error = true;
          refused.fetch_add(1);
          std::this_thread::yield();
        }
      }
    });
  }
  senders.Join();
  REQUIRE(pool.EventuallyHandled(kSenders * kEach));
  CHECK(tally->EachOnce());
  CHECK_FALSE(other_error);
  const auto stats = pool.Stats();
  CHECK(stats["messages_forwarded"] == kSenders * kEach);
  CHECK(stats["messages_unhandled"] == refused);
}

// Two workers, each with a held message and a full mailbox.
struct FullPool {
  explicit FullPool(kit::NodeFixture& fixture, int mailbox_size = 2)
      : pool(fixture.StartPool(2, mailbox_size)), workers(pool.Workers()), gate(fixture.node) {
    fixture.HoldEach(gate, workers);
    for (int i = 0; i < 2 * mailbox_size; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  }
  kit::PoolHandle pool;
  std::vector<gen::PID> workers;
  kit::Gate gate;
};

TEST_CASE("All full: sends and calls fail at once with mailbox full, and are counted") {
  kit::NodeFixture fixture;
  FullPool full(fixture);
  const gen::PID to = full.pool.pid();
  const gen::CallOptions patient{.timeout = gen::kInfinite};

  CHECK(fixture.node.Send(to, Job{9}).error() == gen::ErrProcessMailboxFull);
  const auto called = fixture.node.Call<Answer>(to, Ask{9}, patient);
  REQUIRE_FALSE(called.has_value());
  CHECK(called.error() == gen::ErrProcessMailboxFull);
  CHECK(called.error().ToString() == "process mailbox is full");
  CHECK(fixture.node.CallAsync<Answer>(to, Ask{9}, patient).get().error() ==
        gen::ErrProcessMailboxFull);
  kit::ProberHandle caller(fixture.node);
  std::atomic<int> full_errors{0};
  caller
      .Run([&](Prober& self) {
        if (self.Send(to, Job{9}).error() == gen::ErrProcessMailboxFull) ++full_errors;
        if (self.Call<Answer>(to, Ask{9}, patient).error() == gen::ErrProcessMailboxFull) {
          ++full_errors;
        }
      })
      .value();
  CHECK(full_errors == 2);

  const auto stats = full.pool.Stats();
  CHECK(stats["messages_unhandled"] == 5);
  CHECK(stats["messages_forwarded"] == 4);
  full.gate.Open();
  REQUIRE(full.pool.EventuallyHandled(4));
  CHECK(fixture.workers->calls.size() == 0);
  CHECK_FALSE(fixture.workers->jobs.Has(9));
}

TEST_CASE("10^4 refused messages make few log lines") {
  kit::NodeFixture fixture({.watchdog_after = 0ns});  // which has lines of its own
  FullPool full(fixture);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) {
    CHECK_FALSE(fixture.node.Send(full.pool.pid(), Job{9}).has_value());
  }
  CHECK(full.pool.Stats()["messages_unhandled"] == 10'000);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  CHECK(fixture.log.Lines().size() <= static_cast<std::size_t>(seconds.count() + 2));
  full.gate.Open();
}

TEST_CASE("A full pool handles priority messages, exit signals and inspect while it is full") {
  kit::NodeFixture fixture;
  FullPool full(fixture);
  const gen::PID to = full.pool.pid();

  // Somebody keeps knocking at the full pool meanwhile.
  kit::Threads knocking;
  knocking.Start([&] {
    while (!knocking.stopped()) {
      (void)fixture.node.Send(to, Job{9});
      std::this_thread::yield();
    }
  });
  // Its workers are held at the gate meanwhile: nothing that waits makes room for these.
  for (int i = 0; i < 11; ++i) {
    for (const auto priority : {gen::MessagePriority::kHigh, gen::MessagePriority::kMax}) {
      CHECK(
          fixture.node.Call<Answer>(to, Ask{1}, {.timeout = kit::kDeadline, .priority = priority}));
    }
    CHECK(fixture.node.Inspect(to));
    const auto before = fixture.pools->messages.size();
    CHECK(fixture.node.SendWithPriority(to, Job{5}, gen::MessagePriority::kHigh));
    CHECK(Eventually([&] { return fixture.pools->messages.size() == before + 1; }));
  }
  CHECK(full.pool.Grow(2).value() == 4);
  CHECK(full.pool.Shrink(2).value() == 2);

  fixture.node.SendExit(to, gen::Reason::Shutdown()).value();
  CHECK(Eventually([&] {
    const auto sent = fixture.node.Send(to, Job{8});
    return !sent && sent.error() == gen::ErrProcessTerminated;
  }));
  knocking.StopAndJoin();
  CHECK(full.pool.Stats().Text("state") == "stopping");
  full.gate.Open();
  CHECK(fixture.EventuallyGone(to));
}

TEST_CASE("After the overload the rotation goes on where it was; nobody is left out") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(4, 2);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, workers);
  for (int i = 0; i < 8; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  for (int i = 0; i < 101; ++i) CHECK_FALSE(fixture.node.Send(pool.pid(), Job{99}).has_value());
  gate.Open();
  REQUIRE(pool.EventuallyHandled(8));

  for (int i = 100; i < 112; ++i) {
    fixture.node.Send(pool.pid(), Job{i}).value();
    REQUIRE(pool.EventuallyHandled(i - 100 + 9));
  }
  for (int i = 100; i < 112; ++i) {
    CAPTURE(i);
    CHECK(fixture.workers->jobs.WorkerOf(i) == workers[(i - 100) % 4]);
  }
}

TEST_CASE("After an overload by many senders all workers take part equally again") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(5, 3);
  kit::Threads senders;
  std::atomic<int> accepted{0};
  for (int s = 0; s < 4; ++s) {
    senders.Start([&] {
      for (int i = 0; i < kit::Scaled(20'000); ++i) {
        if (fixture.node.Send(pool.pid(), Job{-1})) accepted.fetch_add(1);
      }
    });
  }
  senders.Join();
  REQUIRE(pool.EventuallyHandled(accepted));
  CHECK(fixture.workers->jobs.size() == static_cast<std::size_t>(accepted));

  constexpr int kRounds = 20;
  for (int i = 0; i < 5 * kRounds; ++i) {
    (void)fixture.node.Call<Answer>(pool.pid(), Ask{i}, {.timeout = kit::kDeadline}).value();
  }
  for (gen::PID worker : pool.Workers()) {
    CHECK(fixture.workers->calls.ValuesOf(worker).size() == kRounds);
  }
}

// Counts Numbered messages, besides what a scripted worker does.
class BurstWorker : public kit::Worker {
 public:
  BurstWorker(kit::ScriptPtr script, kit::TallyPtr tally)
      : Worker(std::move(script)), tally_(std::move(tally)) {}

 private:
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const auto* numbered = message.As<kit::Numbered>();
    if (numbered == nullptr) return Worker::HandleMessage(from, message);
    tally_->Add(numbered->number);
    return gen::Continue();
  }

  kit::TallyPtr tally_;
};

TEST_CASE("A burst of 10^6 into an unbounded pool: all handled, and the memory returns") {
  constexpr int kBurst = kit::Scaled(1'000'000);
  const std::size_t before = core::EnvelopePoolUsage().mapped_bytes;
  kit::NodeFixture fixture;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    auto tally = std::make_shared<kit::Tally>(kBurst);
    auto options = fixture.Options(4);
    options.worker_factory = gen::Factory<BurstWorker>(fixture.workers, tally);
    auto pool = fixture.StartPool(options);
    kit::Gate gate(fixture.node);
    fixture.HoldEach(gate, pool.Workers());
    for (int i = 0; i < kBurst; ++i) fixture.node.Send(pool.pid(), kit::Numbered{i}).value();
    CHECK(pool.Stats()["messages_queued"] == kBurst);
    const std::size_t full = core::EnvelopePoolUsage().mapped_bytes;
    gate.Open();
    REQUIRE(pool.EventuallyHandled(kBurst));
    CHECK(tally->EachOnce());
    if (kit::kSanitized) continue;  // there, each message is an allocation of its own
    // Some of it may have been there before, free.
    CHECK(full >= kBurst * 64u);
    // What is kept ready, 4 MiB and a little for each thread, may be every fourth block: one worker's, if the
    // machine let that one run first.
    CHECK(Eventually(
        [&] { return core::EnvelopePoolUsage().mapped_bytes <= before + kBurst * 64u / 2; }));
    fixture.node.StopProcess(pool.pid(), kit::kDeadline).value();
  }
}

}  // namespace
}  // namespace ergon
