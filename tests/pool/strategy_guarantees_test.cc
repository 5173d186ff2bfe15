// What a pool promises, promised by each strategy.
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/broadcast_answers.h>

#include <kit/manual_time.h>
#include <kit/node_fixture.h>
#include <kit/strategies.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using act::PoolStrategy;
using kit::Answer;
using kit::Ask;
using kit::Crash;
using kit::Eventually;
using kit::ForEachStrategy;
using kit::Hold;
using kit::Job;
using kit::Sequence;
using kit::With;

TEST_CASE("Strategies: messages and calls are handled once, and the numbers add up") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(With(fixture.Options(3), strategy));
    std::vector<std::future<gen::Result<Answer>>> answers;
    for (int value = 0; value < 500; ++value) {
      fixture.node.Send(pool.pid(), Job{value}).value();
      answers.push_back(
          fixture.node.CallAsync<Answer>(pool.pid(), Ask{value}, {.timeout = kit::kDeadline}));
    }
    for (int value = 0; value < 500; ++value) {
      CHECK(answers[static_cast<std::size_t>(value)].get().value().value == value);
    }
    REQUIRE(pool.EventuallyHandled(1000));
    CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 500));
    CHECK(pool.Stats()["messages_lost"] == 0);
    CHECK(pool.Stats().Text("strategy") == strategy.ToString());
  });
}

TEST_CASE("Strategies: one worker handles in the order sent, also when it crashes") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(With(fixture.Options(1), strategy));
    for (int value = 0; value < 200; ++value) {
      if (value % 50 == 25) {
        fixture.node.Send(pool.pid(), Job{value, Crash("on purpose")}).value();
      } else {
        fixture.node.Send(pool.pid(), Job{value}).value();
      }
    }
    REQUIRE(pool.EventuallyHandled(196));
    CHECK(pool.Stats()["messages_lost_crashed"] == 4);
    // Each key has one message only: keys are not ordered among each other when one crashes.
    if (strategy.kind() != PoolStrategy::Kind::kByKey) {
      CHECK(fixture.workers->jobs.Values() == Sequence(0, 200));
    } else {
      CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 200));
    }
  });
}

TEST_CASE("Strategies: grown and shrunk under load: nothing is lost, nothing is done twice") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(With(fixture.Options(3), strategy));
    int value = 0;
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 20; ++i) fixture.node.Send(pool.pid(), Job{value++}).value();
      if (round % 2 == 0) pool.Grow(3).value();
      if (round % 4 == 1) pool.Shrink(3).value();
      if (round % 4 == 3) pool.ShrinkNow(3).value();
    }
    REQUIRE(pool.EventuallyAtRest());
    REQUIRE(Eventually([&] { return fixture.ChildrenOf(pool.pid()).size() == 3; }));
    const auto stats = pool.Stats();
    // A worker that is killed may be handling one.
    CHECK(stats["messages_handled"] + stats["messages_lost_crashed"] == value);
    CHECK(stats["messages_lost"] == stats["messages_lost_crashed"]);
    CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, value));
  });
}

TEST_CASE("Strategies: a crash loses the message being handled, and no other") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(With(fixture.Options(3), strategy));
    kit::Gate gate(fixture.node);
    auto call = fixture.node.CallAsync<Answer>(pool.pid(), Ask{0, kit::CrashCall("call")},
                                               {.timeout = kit::kDeadline});
    CHECK(call.get().error() == gen::ErrProcessTerminated);
    fixture.node.Send(pool.pid(), Job{0, kit::Then(Hold(gate), Crash("held"))}).value();
    REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
    for (int value = 1; value < 100; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
    gate.Open();
    REQUIRE(pool.EventuallyHandled(99));
    REQUIRE(pool.EventuallyComplete(3));
    CHECK(pool.Stats()["messages_lost_crashed"] == 2);
    CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 100));
  });
}

TEST_CASE("Strategies: all full: sends and calls are refused at once, and taken again later") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(With(fixture.Options(2, 3), strategy));
    kit::Gate gate(fixture.node);
    // One message for each worker to handle, three for each to wait. With one key, one worker has them all.
    const int room = (strategy.kind() == PoolStrategy::Kind::kByKey ? 1 : 2) + 2 * 3;
    int accepted = 0;
    REQUIRE(Eventually([&] {
      const auto sent = fixture.node.Send(pool.pid(), Job{1, Hold(gate)});
      if (sent) return ++accepted == room;
      CHECK(sent.error() == gen::ErrProcessMailboxFull);
      return false;
    }));
    REQUIRE(Eventually([&] { return gate.Entered() == room - 6; }));
    // An inspection overtakes messages: only when the pool has taken the last one it knows that all are full.
    REQUIRE(Eventually([&] {
      return fixture.node.ProcessInfo(pool.pid())->messages_queued == 0 &&
             pool.Stats()["messages_queued"] == 6;
    }));
    for (int i = 0; i < 20; ++i) {
      CHECK(fixture.node.Send(pool.pid(), Job{1}).error() == gen::ErrProcessMailboxFull);
    }
    // Had it waited, it would have timed out.
    const auto call = fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline});
    CHECK(call.error() == gen::ErrProcessMailboxFull);
    CHECK(pool.Stats()["messages_queued"] == 6);
    CHECK(pool.Stats()["messages_unhandled"] >= 21);
    gate.Open();
    REQUIRE(pool.EventuallyHandled(accepted));
    CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline}).has_value());
  });
}

TEST_CASE("Strategies: all full, with a policy: one is dropped and counted") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    for (const gen::Overflow overflow : {gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
      kit::NodeFixture fixture;
      act::PoolOptions options = With(fixture.Options(2), strategy);
      options.worker_mailbox = gen::Mailbox::Bounded(3, overflow);
      auto pool = fixture.StartPool(options);
      kit::Gate gate(fixture.node);
      fixture.HoldEach(gate, pool.Workers());
      for (int value = 0; value < 20; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
      REQUIRE(Eventually([&] { return pool.Stats()["messages_lost_full"] >= 12; }));
      gate.Open();
      REQUIRE(pool.EventuallyAtRest());
      const auto stats = pool.Stats();
      CHECK(stats["messages_handled"] + stats["messages_lost_full"] == 20);
      CHECK(stats["messages_handled"] >= 6);
      CHECK(stats["messages_handled"] <= 8);
      CHECK(fixture.workers->jobs.Has(overflow == gen::Overflow::kDropNewest ? 0 : 19));
    }
  });
}

TEST_CASE("Strategies: a request whose caller has given up is skipped, and counted") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    const kit::ManualTime time;
    kit::NodeFixture fixture(time.Into());
    auto pool = fixture.StartPool(With(fixture.Options(1), strategy));
    kit::Gate gate(fixture.node);
    fixture.node.Send(pool.pid(), Job{0, Hold(gate)}).value();
    REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
    auto call = fixture.node.CallAsync<Answer>(pool.pid(), Ask{1}, {.timeout = 1s});
    time.Pass(2s);
    CHECK(call.get().error() == gen::ErrTimeout);
    gate.Open();
    REQUIRE(Eventually([&] { return pool.Stats()["messages_expired"] == 1; }));
    REQUIRE(pool.EventuallyAtRest());
    CHECK(fixture.workers->calls.size() == 0);
  });
}

TEST_CASE("Strategies: the only worker calls its own pool: told at once") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    kit::NodeFixture fixture;
    auto pool = fixture.StartPool(With(fixture.Options(1, 1), strategy));
    auto answer = fixture.node.Call<Answer>(
        pool.pid(),
        Ask{1,
            [pid = pool.pid()](kit::Worker& self, gen::PID, gen::Ref) {
              auto inner = self.Call<Answer>(pid, Ask{2}, {.timeout = gen::kInfinite});
              return gen::Reply(Answer{inner.error() == gen::ErrDeadlock ? 1 : 0, {}});
            }},
        {.timeout = kit::kDeadline});
    CHECK(answer.value().value == 1);
  });
}

TEST_CASE("Strategies: a pool that ends in order handles what waits; a killed one counts it") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    for (const bool kill : {false, true}) {
      kit::NodeFixture fixture;
      auto pool = fixture.StartPool(With(fixture.Options(2), strategy));
      const auto workers = pool.Workers();
      kit::Gate gate(fixture.node);
      for (int value = 0; value < 50; ++value) {
        fixture.node.Send(pool.pid(), Job{value, Hold(gate)}).value();
      }
      REQUIRE(Eventually([&] { return gate.Entered() >= 1; }));
      auto call = fixture.node.CallAsync<Answer>(pool.pid(), Ask{0}, {.timeout = kit::kDeadline});
      (void)pool.Stats();
      if (kill) {
        fixture.node.Kill(pool.pid()).value();
        // The pool is gone before its workers are told.
        for (const gen::PID worker : workers) REQUIRE(fixture.EventuallyGone(worker));
      } else {
        pool.End(gen::Reason::Normal()).value();
      }
      gate.Open();
      REQUIRE(fixture.EventuallyGone(pool.pid()));
      REQUIRE(Eventually([&] { return fixture.node.Info().processes == 1; }));  // the gate
      CHECK(call.get().has_value() == !kill);
      if (!kill) CHECK(fixture.workers->done.size() == 51);
    }
  });
}

TEST_CASE("Strategies: a pool of pools") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    ForEachStrategy([&](const PoolStrategy& inner) {
      kit::NodeFixture fixture;
      act::PoolOptions options = With(fixture.Options(2), strategy);
      options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
      options.worker_args = gen::MakeArgs(With(fixture.Options(2), inner));
      auto pool = fixture.StartPool(options);
      for (int value = 0; value < 200; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
      REQUIRE(Eventually([&] { return fixture.workers->done.size() == 200; }));
      CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 200));
      REQUIRE(pool.EventuallyHandled(200));
    });
  });
}

TEST_CASE("Strategies: a worker of an inner pool calls the outer one: told, and all go on") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    ForEachStrategy([&](const PoolStrategy& inner) {
      kit::NodeFixture fixture;
      act::PoolOptions options = With(fixture.Options(2), strategy);
      options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
      options.worker_args = gen::MakeArgs(With(fixture.Options(1), inner));
      auto pool = fixture.StartPool(options);
      for (int value = 0; value < 8; ++value) {
        auto calls_again = [pid = pool.pid(), value](kit::Worker& self, gen::PID, gen::Ref) {
          auto answer = self.Call<Answer>(pid, Ask{value}, {.timeout = kit::kDeadline});
          // The other inner pool may answer it.
          CHECK((answer || answer.error() == gen::ErrDeadlock));
          return gen::Reply(Answer{});
        };
        CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{value, calls_again},
                                        {.timeout = 2 * kit::kDeadline}));
      }
      for (int value = 0; value < 20; ++value) fixture.node.Send(pool.pid(), Job{value}).value();
      REQUIRE(Eventually([&] { return fixture.workers->jobs.size() == 20; }));
      CHECK(fixture.workers->jobs.SortedValues() == Sequence(0, 20));
      REQUIRE(pool.EventuallyAtRest());
    });
  });
}

TEST_CASE("Strategies: the only worker of the only inner pool calls the outer one: told at once") {
  ForEachStrategy([](const PoolStrategy& strategy) {
    ForEachStrategy([&](const PoolStrategy& inner) {
      kit::NodeFixture fixture;
      act::PoolOptions options = With(fixture.Options(1), strategy);
      options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
      options.worker_args = gen::MakeArgs(With(fixture.Options(1), inner));
      auto pool = fixture.StartPool(options);
      auto calls_again = [pid = pool.pid()](kit::Worker& self, gen::PID, gen::Ref) {
        auto answer = self.Call<Answer>(pid, Ask{2}, {.timeout = kit::kDeadline});
        return gen::Reply(Answer{answer.error() == gen::ErrDeadlock ? 1 : 0, {}});
      };
      auto answer = fixture.node.Call<Answer>(pool.pid(), Ask{1, calls_again},
                                              {.timeout = 2 * kit::kDeadline});
      CHECK(answer.value().value == 1);
      CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{3}, {.timeout = kit::kDeadline}));
      REQUIRE(pool.EventuallyAtRest());
    });
  });
}

TEST_CASE("Strategies: a worker of a worker calls the outer pool, and one of the two broadcasts") {
  const auto broadcast_jobs = PoolStrategy::Broadcast<Job>();
  const auto broadcast_calls = PoolStrategy::Broadcast<Ask>();
  for (const auto& [strategy, inner] :
       {std::pair{PoolStrategy::SharedQueue(), broadcast_calls},
        std::pair{kit::ByValue(), broadcast_calls}, std::pair{broadcast_jobs, PoolStrategy()}}) {
    const bool in_answers = inner.ToString() == broadcast_calls.ToString();
    CAPTURE(in_answers);
    kit::NodeFixture fixture;
    act::PoolOptions options = With(fixture.Options(1), strategy);
    options.worker_factory = gen::Factory<kit::ManagedPool>(fixture.pools);
    options.worker_args = gen::MakeArgs(With(fixture.Options(1), inner));
    auto pool = fixture.StartPool(options);
    std::atomic<bool> told{false};
    auto calls_again = [&told, pid = pool.pid()](kit::Worker& self, gen::PID, gen::Ref) {
      told =
          self.Call<Answer>(pid, Ask{1}, {.timeout = kit::kDeadline}).error() == gen::ErrDeadlock;
      return gen::Reply(Answer{});
    };
    const auto call = [&](Ask ask) {
      const gen::CallOptions how{.timeout = 2 * kit::kDeadline};
      return in_answers ? fixture.node.Call<act::BroadcastAnswers>(pool.pid(), std::move(ask), how)
                              .has_value()
                        : fixture.node.Call<Answer>(pool.pid(), std::move(ask), how).has_value();
    };
    CHECK(call(Ask{1, calls_again}));
    CHECK(told);
    CHECK(call(Ask{1}));
    REQUIRE(pool.EventuallyAtRest());
  }
}

TEST_CASE("Strategies: a worker whose mailbox drops what the pool gave it is not forgotten") {
  for (const PoolStrategy& strategy : {kit::ByValue(), PoolStrategy::SharedQueue()}) {
    kit::NodeFixture fixture;
    act::PoolOptions options = With(fixture.Options(1), strategy);
    options.worker_mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropOldest);
    auto pool = fixture.StartPool(options);
    const gen::PID worker = pool.Workers()[0];
    kit::Gate gate(fixture.node);
    fixture.HoldEach(gate, {worker});
    fixture.node.Send(pool.pid(), Job{1}).value();
    REQUIRE(Eventually([&] { return pool.Stats()["messages_forwarded"] == 1; }));
    fixture.node.Send(worker, Job{2}).value();  // job 1 goes
    gate.Open();
    for (int value = 3; value < 6; ++value) {
      fixture.node.Call<Answer>(pool.pid(), Ask{value}, {.timeout = kit::kDeadline}).value();
    }
    CHECK(fixture.workers->jobs.Values() == std::vector{-1, 2});
    REQUIRE(pool.EventuallyAtRest());
    CHECK(pool.Stats()["messages_lost_full"] == 1);
  }
}

}  // namespace
}  // namespace ergon
