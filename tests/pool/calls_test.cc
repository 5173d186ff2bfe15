// Requests through a pool.
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <kit/manual_time.h>
#include <kit/node_fixture.h>

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

// Takes down who waits for an answer, and with which ref, for the test to answer.
class Pending {
 public:
  auto Note() {
    return [this](kit::Worker&, gen::PID from, gen::Ref ref) {
      std::lock_guard lock(mutex_);
      noted_.emplace_back(from, ref);
      return gen::NoReply();
    };
  }
  [[nodiscard]] std::vector<std::pair<gen::PID, gen::Ref>> All() const {
    std::lock_guard lock(mutex_);
    return noted_;
  }
  [[nodiscard]] bool EventuallyHas(std::size_t count) const {
    return Eventually([&] { return All().size() == count; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<gen::PID, gen::Ref>> noted_;
};

TEST_CASE("The handler answers later: by the worker, another process, a thread; or an error") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  Pending pending;
  auto answer = fixture.node.CallAsync<Answer>(pool.pid(), Ask{1, pending.Note()},
                                               {.timeout = gen::kInfinite});
  REQUIRE(pending.EventuallyHas(1));
  const auto [from, ref] = pending.All()[0];
  CHECK(answer.wait_for(0s) == std::future_status::timeout);

  SUBCASE("the worker") {
    const gen::PID worker = fixture.workers->calls.WorkerOf(1);
    fixture.node
        .Send(worker, Job{2,
                          [from = from, ref = ref](kit::Worker& self) {
                            self.SendResponse(from, ref, Answer{10, self.Self()}).value();
                            return gen::Continue();
                          }})
        .value();
    CHECK(answer.get().value().value == 10);
  }
  SUBCASE("another process") {
    kit::ProberHandle other(fixture.node);
    other
        .Run([from = from, ref = ref](Prober& self) {
          self.SendResponse(from, ref, Answer{11, self.Self()}).value();
        })
        .value();
    CHECK(answer.get().value().value == 11);
  }
  SUBCASE("a thread") {
    fixture.node.SendResponse(from, ref, Answer{12, {}}).value();
    CHECK(answer.get().value().value == 12);
  }
  SUBCASE("an error") {
    kit::ProberHandle other(fixture.node);
    other
        .Run([from = from, ref = ref](Prober& self) {
          self.SendResponseError(from, ref, gen::Error("out of paper")).value();
        })
        .value();
    CHECK(answer.get().error().ToString() == "out of paper");
  }
  // Once is enough.
  CHECK(fixture.node.SendResponse(from, ref, Answer{13, {}}).error() == gen::ErrResponseIgnored);
}

TEST_CASE("Many requests are open at one worker and answered in another order") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  Pending pending;
  constexpr int kCount = 100;
  std::vector<std::future<gen::Result<Answer>>> answers;
  for (int i = 0; i < kCount; ++i) {
    answers.push_back(fixture.node.CallAsync<Answer>(pool.pid(), Ask{i, pending.Note()},
                                                     {.timeout = gen::kInfinite}));
  }
  REQUIRE(pending.EventuallyHas(kCount));
  const auto all = pending.All();
  for (int i = kCount - 1; i >= 0; --i) {
    fixture.node.SendResponse(all[i].first, all[i].second, Answer{i, {}}).value();
  }
  for (int i = 0; i < kCount; ++i) CHECK(answers[i].get().value().value == i);
}

TEST_CASE("Never answered: the caller gets its timeout, from a process and from a thread") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const gen::CallOptions short_time{.timeout = 20ms};
  const auto answer = fixture.node.Call<Answer>(pool.pid(), Ask{1, kit::NeverAnswer()}, short_time);
  CHECK(answer.error() == gen::ErrTimeout);
  CHECK(fixture.node.CallAsync<Answer>(pool.pid(), Ask{2, kit::NeverAnswer()}, short_time)
            .get()
            .error() == gen::ErrTimeout);
  kit::ProberHandle caller(fixture.node);
  std::optional<gen::Error> error;
  caller
      .Run([&](Prober& self) {
        error = self.Call<Answer>(pool.pid(), Ask{3, kit::NeverAnswer()}, short_time).error();
      })
      .value();
  CHECK(error == gen::ErrTimeout);
  CHECK(pool.EventuallyHandled(3));
  for (const auto timeout : {0ns, -1ns}) {
    CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{4}, {.timeout = timeout}).error() ==
          gen::ErrIncorrect);
  }
}

TEST_CASE("Answered twice: the first counts, the second is ignored and says so") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  std::optional<gen::Error> second;
  auto twice = [&second](kit::Worker& worker, gen::PID from, gen::Ref ref) -> gen::CallResult {
    worker.SendResponse(from, ref, Answer{1, worker.Self()}).value();
    const auto again = worker.SendResponse(from, ref, Answer{2, worker.Self()});
    if (!again) second = again.error();
    return gen::Reply(Answer{3, worker.Self()});
  };
  SUBCASE("to a thread") {
    CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{1, twice}).value().value == 1);
  }
  SUBCASE("to a process, whose next calls are not disturbed") {
    kit::ProberHandle caller(fixture.node);
    std::vector<int> values;
    caller
        .Run([&](Prober& self) {
          values.push_back(self.Call<Answer>(pool.pid(), Ask{1, twice}).value().value);
          for (int i = 10; i < 20; ++i) {
            values.push_back(self.Call<Answer>(pool.pid(), Ask{i}).value().value);
          }
        })
        .value();
    auto expected = Sequence(10, 10);
    expected.insert(expected.begin(), 1);
    CHECK(values == expected);
  }
  REQUIRE(pool.EventuallyAtRest());
  REQUIRE(second.has_value());
  CHECK(*second == gen::ErrResponseIgnored);
}

TEST_CASE("Answered after the timeout: ignored, and the next call is not disturbed") {
  const kit::ManualTime time;
  kit::NodeFixture fixture(time.Into());
  auto pool = fixture.StartPool(1);
  Pending pending;
  kit::ProberHandle caller(fixture.node);
  std::vector<int> values;
  bool ignored = false;
  caller.Start([&](Prober& self) {
    const auto late = self.Call<Answer>(pool.pid(), Ask{1, pending.Note()}, {.timeout = 1s});
    if (late || late.error() != gen::ErrTimeout) throw std::logic_error("no time-out");
    const auto [from, ref] = pending.All().at(0);
    // Before the next call, and while it waits.
    ignored = self.SendResponse(from, ref, Answer{99, {}}).error() == gen::ErrResponseIgnored;
    auto then = [from = from, ref = ref](kit::Worker& worker, gen::PID, gen::Ref) {
      (void)worker.SendResponse(from, ref, Answer{98, {}});
      return gen::Reply(Answer{2, worker.Self()});
    };
    values.push_back(self.Call<Answer>(pool.pid(), Ask{2, then}).value().value);
    values.push_back(self.Call<Answer>(pool.pid(), Ask{3}).value().value);
  });
  REQUIRE(pending.EventuallyHas(1));
  REQUIRE(Eventually([&] {
    return fixture.node.ProcessInfo(caller.pid())->state == gen::ProcessState::kWaiting;
  }));
  time.Pass(2s);
  caller.Run([](Prober&) {}).value();
  CHECK(ignored);
  CHECK(values == std::vector<int>{2, 3});
}

TEST_CASE("A request whose caller has stopped waiting is not handled any more, but counted") {
  const kit::ManualTime time;
  kit::NodeFixture fixture(time.Into());
  auto pool = fixture.StartPool(1);
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  const auto before = fixture.node.Info().dropped_expired;
  auto late = fixture.node.CallAsync<Answer>(pool.pid(), Ask{1}, {.timeout = 1s});
  time.Pass(2s);
  CHECK(late.get().error() == gen::ErrTimeout);
  gate.Open();
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{2}, {.timeout = kit::kDeadline}).value().value ==
        2);
  REQUIRE(pool.EventuallyAtRest());
  CHECK(fixture.workers->calls.Values() == std::vector<int>{2});
  CHECK(fixture.node.Info().dropped_expired == before + 1);
}

TEST_CASE("The caller dies while its call is queued in a worker: nobody else is concerned") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  const auto workers = pool.Workers();
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));

  kit::ProberHandle caller(fixture.node);
  caller.Start([to = pool.pid()](Prober& self) {
    (void)self.Call<Answer>(to, Ask{1}, {.timeout = gen::kInfinite});
  });
  REQUIRE(Eventually([&] { return pool.Stats()["messages_queued"] == 1; }));
  SUBCASE("killed") { fixture.node.Kill(caller.pid()).value(); }
  SUBCASE("by an exit signal") {
    fixture.node.SendExit(caller.pid(), gen::Reason::Error("leave")).value();
  }
  REQUIRE(fixture.EventuallyGone(caller.pid()));
  auto second = fixture.node.CallAsync<Answer>(pool.pid(), Ask{2}, {.timeout = kit::kDeadline});
  gate.Open();
  CHECK(second.get().value().value == 2);
  REQUIRE(pool.EventuallyAtRest());
  // What a caller of this node has asked for is done, as a message that it has sent.
  CHECK(fixture.workers->calls.Values() == std::vector<int>{1, 2});
  CHECK(fixture.node.Info().dropped_expired == 0);
  CHECK(pool.Workers() == workers);
  CHECK(pool.Stats()["messages_forwarded"] == 3);
  CHECK(pool.Stats()["worker_restarts"] == 0);
}

TEST_CASE("The caller dies while its call is being handled: the answer is ignored") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  Pending pending;
  kit::ProberHandle caller(fixture.node);
  caller.Start([to = pool.pid(), then = pending.Note()](Prober& self) {
    (void)self.Call<Answer>(to, Ask{1, then}, {.timeout = gen::kInfinite});
  });
  REQUIRE(pending.EventuallyHas(1));
  fixture.node.Kill(caller.pid()).value();
  REQUIRE(fixture.EventuallyGone(caller.pid()));
  const auto [from, ref] = pending.All()[0];
  CHECK(from == caller.pid());
  CHECK(fixture.node.SendResponse(from, ref, Answer{1, {}}).error() == gen::ErrResponseIgnored);
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{2}).value().value == 2);
}

// Asks its own pool, and answers what that has answered.
auto AskOwnPool(std::chrono::nanoseconds timeout) {
  return [timeout](kit::Worker& worker, gen::PID, gen::Ref) -> gen::CallResult {
    auto answer = worker.Call<Answer>(worker.Parent(), Ask{2}, {.timeout = timeout});
    if (!answer) return gen::ReplyError(answer.error());
    return gen::Reply(*answer);
  };
}

TEST_CASE("A worker calls its own pool: answered by another one") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(3);
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    const auto answer = fixture.node
                            .Call<Answer>(pool.pid(), Ask{1, AskOwnPool(kit::kDeadline)},
                                          {.timeout = gen::kInfinite})
                            .value();
    CHECK(answer.value == 2);
    CHECK(answer.worker != fixture.workers->calls.WorkersOf(1).back());
  }
}

TEST_CASE("The only worker calls its own pool: told at once, no silent hang") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1);
  const auto answer = fixture.node.Call<Answer>(pool.pid(), Ask{1, AskOwnPool(gen::kInfinite)},
                                                {.timeout = kit::kDeadline});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error() == gen::ErrDeadlock);
  // A message to itself is no problem.
  fixture.node
      .Send(pool.pid(), Job{3,
                            [](kit::Worker& worker) {
                              worker.Send(worker.Parent(), Job{4}).value();
                              return gen::Continue();
                            }})
      .value();
  CHECK(Eventually([&] { return fixture.workers->jobs.Has(4); }));
  CHECK(pool.EventuallyAtRest());
}

TEST_CASE("A worker's call waits at its pool when the other worker is taken out: told at once") {
  kit::NodeFixture fixture;
  act::PoolOptions options = fixture.Options(2);
  options.strategy = act::PoolStrategy::SharedQueue();
  auto pool = fixture.StartPool(options);
  kit::Gate gate(fixture.node);
  fixture.node.Send(pool.pid(), Job{0, Hold(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  auto answer = fixture.node.CallAsync<Answer>(pool.pid(), Ask{1, AskOwnPool(gen::kInfinite)},
                                               {.timeout = kit::kDeadline});
  REQUIRE(Eventually(
      [&] { return fixture.workers->calls.size() == 1 && pool.Stats()["messages_queued"] == 1; }));
  CHECK(pool.Shrink(1).value() == 1);  // the worker at the gate: it is its turn
  REQUIRE(pool.Workers() == fixture.workers->calls.WorkersOf(1));
  const auto told = answer.get();
  REQUIRE_FALSE(told.has_value());
  CHECK(told.error() == gen::ErrDeadlock);
  gate.Open();
  CHECK(pool.EventuallyAtRest());
}

TEST_CASE("All workers call their own pool at once: one is told of the deadlock, at once") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  kit::Gate gate(fixture.node);
  auto then = [pid = gate.pid()](kit::Worker& worker, gen::PID from, gen::Ref ref) {
    worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite}).value();
    return AskOwnPool(gen::kInfinite)(worker, from, ref);
  };
  std::vector<std::future<gen::Result<Answer>>> answers;
  for (int i = 0; i < 2; ++i) {
    answers.push_back(
        fixture.node.CallAsync<Answer>(pool.pid(), Ask{1, then}, {.timeout = kit::kDeadline}));
  }
  REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
  gate.Open();
  int told_of_it = 0;
  for (auto& answer : answers) {
    const auto told = answer.get();
    if (told) {
      CHECK(told->value == 2);  // the one that was told has helped the other
    } else {
      CHECK(told.error() == gen::ErrDeadlock);
      ++told_of_it;
    }
  }
  CHECK(told_of_it == 1);
  // What was not begun with.
  CHECK(Eventually([&] { return fixture.node.Info().dropped_expired == 1; }));
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{5}, {.timeout = kit::kDeadline}).value().value ==
        5);
  CHECK(pool.EventuallyAtRest());
}

TEST_CASE("A worker that is taken out calls its own pool: answered by the one that stays") {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::SharedQueue(), act::PoolStrategy::Rotation()}) {
    const std::string name(strategy.ToString());
    CAPTURE(name);
    kit::NodeFixture fixture;
    act::PoolOptions options = fixture.Options(2);
    options.strategy = strategy;
    auto pool = fixture.StartPool(options);
    kit::Gate gate(fixture.node);
    auto then = [pid = gate.pid()](kit::Worker& worker, gen::PID from, gen::Ref ref) {
      worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite}).value();
      return AskOwnPool(gen::kInfinite)(worker, from, ref);
    };
    std::vector<std::future<gen::Result<Answer>>> answers;
    for (int i = 0; i < 2; ++i) {
      answers.push_back(
          fixture.node.CallAsync<Answer>(pool.pid(), Ask{1, then}, {.timeout = kit::kDeadline}));
    }
    REQUIRE(Eventually([&] { return gate.Entered() == 2; }));
    CHECK(pool.Shrink(1).value() == 1);
    gate.Open();
    int answered = 0;
    for (auto& answer : answers) {
      const auto told = answer.get();
      answered += told ? 1 : 0;
      if (!told)
        CHECK(told.error() == gen::ErrDeadlock);  // the one that stays: nobody else is there
    }
    CHECK(answered == 1);
    CHECK(pool.EventuallyAtRest());
  }
}

TEST_CASE("All workers are full and one calls its own pool: mailbox full, at once") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 1);
  kit::Gate gate(fixture.node);
  kit::Gate other(fixture.node);
  auto then = [pid = gate.pid()](kit::Worker& worker, gen::PID from, gen::Ref ref) {
    worker.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite}).value();
    return AskOwnPool(gen::kInfinite)(worker, from, ref);
  };
  auto answer =
      fixture.node.CallAsync<Answer>(pool.pid(), Ask{1, then}, {.timeout = kit::kDeadline});
  fixture.node.Send(pool.pid(), Job{0, Hold(other)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() + other.Entered() == 2; }));
  for (int i = 0; i < 2; ++i) fixture.node.Send(pool.pid(), Job{3 + i}).value();
  gate.Open();
  CHECK(answer.get().error() == gen::ErrProcessMailboxFull);
  other.Open();
  CHECK(pool.EventuallyAtRest());
}

TEST_CASE("A worker's request that waits for a missing worker keeps no message from the others") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2);
  const gen::PID asks = pool.Workers()[0];
  const gen::PID ends = pool.Workers()[1];
  kit::Gate gate(fixture.node);
  fixture.workers->SetInit([pid = gate.pid()](kit::Worker& self) {
    (void)self.Call<bool>(pid, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  });
  fixture.node.Kill(ends).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));  // the one that takes its place
  const auto ask = [pid = pool.pid()](kit::Worker& self) {
    CHECK(self.Request(pid, Ask{1}));
    return gen::Continue();
  };
  fixture.node.Send(asks, Job{2, ask}).value();
  REQUIRE(Eventually([&] { return fixture.workers->done.Has(2); }));
  for (int value = 3; value < 10; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
  CHECK(Eventually([&] { return fixture.workers->done.size() == 8; }));
  CHECK(fixture.workers->jobs.ValuesOf(asks) == Sequence(2, 8));
  CHECK_FALSE(fixture.workers->calls.Has(1));
  CHECK(pool.Stats()["messages_queued"] == 1);
  gate.Open();
  CHECK(Eventually([&] { return fixture.workers->done.Has(1); }));
  CHECK(fixture.workers->calls.WorkerOf(1) != asks);
  CHECK(pool.EventuallyAtRest());
}

}  // namespace
}  // namespace ergon
