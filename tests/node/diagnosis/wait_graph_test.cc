// Circles of processes that wait for each other: told at once, and only when it is sure.
#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <ergon/act/broadcast_answers.h>
#include <ergon/act/pool.h>
#include <ergon/act/serializer.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct TaggedQuestion {
  static constexpr const char* kTag = "question";
};

struct AskInTurn {
  std::vector<gen::PID> rest;  // the next to ask; the last one answers
};

// Asks the first of `rest` with the others, if there is one, and answers what it gets.
Handlers Asking(std::chrono::nanoseconds timeout = gen::kInfinite) {
  return {.call = [timeout](Subject& self, gen::PID, gen::Ref,
                            gen::Message& request) -> gen::CallResult {
    auto rest = request.Take<AskInTurn>().rest;
    if (rest.empty()) return gen::Reply(1);
    const gen::PID next = rest.front();
    rest.erase(rest.begin());
    auto answer = self.Call<int>(next, AskInTurn{std::move(rest)}, {.timeout = timeout});
    if (!answer) return gen::ReplyError(answer.error());
    return gen::Reply(*answer + 1);
  }};
}

std::string Waits(gen::PID from, gen::PID to, const std::string& type) {
  return from.ToString() + " waits for " + to.ToString() + " (" + type + ")";
}

TEST_CASE("wait graph: a call that closes a circle is told at once, with the chain") {
  TestNode t;
  const gen::PID a = t.Spawn(Asking());
  const gen::PID b = t.Spawn(Asking());
  const gen::PID c = t.Spawn(Asking());
  const std::string type = core::TypeOf<AskInTurn>()->Name();
  const auto two = t.node.Call<int>(a, AskInTurn{{b, a}}, kPatient);
  CHECK(two.error() == gen::ErrDeadlock);
  CHECK(two.error().ToString() == "deadlock: " + Waits(b, a, type) + ", " + Waits(a, b, type));
  const auto three = t.node.Call<int>(a, AskInTurn{{b, c, a, b}}, kPatient);
  CHECK(three.error().detail() ==
        Waits(c, a, type) + ", " + Waits(a, b, type) + ", " + Waits(b, c, type));
  // A circle that the caller is not part of is nobody's but its own.
  const auto behind = t.node.Call<int>(a, AskInTurn{{b, c, b}}, kPatient);
  CHECK(behind.error().detail() == Waits(c, b, type) + ", " + Waits(b, c, type));
  const auto self = t.node.Call<int>(a, AskInTurn{{a}}, kPatient);
  CHECK(self.error().detail() == a.ToString() + " would wait for itself (" + type + ")");
  // The requests that were withdrawn are skipped, and counted.
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_expired == 3; }));
  for (const auto& drop : t.node.LastDrops()) CHECK(drop.error == "deadlock");
  CHECK(t.node.Call<int>(a, AskInTurn{{b, c}}, kPatient).value() == 3);
  CHECK(t.node.WaitForGraph().empty());
}

TEST_CASE("wait graph: the callers of those in a circle are told by them, and not by it") {
  TestNode t;
  const gen::PID a = t.Spawn(Asking());
  const gen::PID b = t.Spawn(Asking());
  const gen::PID outside = t.Spawn(Asking());
  CHECK(t.node.Call<int>(outside, AskInTurn{{a, b, a}}, kPatient).error() == gen::ErrDeadlock);
  CHECK(t.node.Call<int>(outside, AskInTurn{{a, b}}, kPatient).value() == 3);
}

TEST_CASE(
    "wait graph: a circle through a request of high priority, and none through an inspection") {
  TestNode t;
  const gen::PID a = t.Spawn();
  const gen::PID b = t.Spawn({.call = [&](Subject& self, gen::PID from, gen::Ref, gen::Message&) {
    const auto high = self.Call<int>(
        from, 1, {.timeout = gen::kInfinite, .priority = gen::MessagePriority::kMax});
    CHECK(high.error() == gen::ErrDeadlock);
    CHECK(self.Inspect(from, {}, {.timeout = gen::kInfinite}));  // it waits, and answers
    return gen::Reply(5);
  }});
  CHECK(t.Run(a, [&](Subject& self) { CHECK(self.Call<int>(b, 1).value() == 5); }));
  CHECK(t.node.Inspect(a, {}, kPatient));
  CHECK(t.node.Info().dropped_expired == 1);
}

TEST_CASE("wait graph: a time-out does not make it less of a deadlock") {
  TestNode t;
  const gen::PID a = t.Spawn(Asking(kit::kDeadline));
  const gen::PID b = t.Spawn(Asking(kit::kDeadline));
  CHECK(t.node.Call<int>(a, AskInTurn{{b, a}}, {.timeout = gen::kInfinite}).error() ==
        gen::ErrDeadlock);
}

// Calls read the exact time only where it matters, and the coarse clock stands still for milliseconds.
TEST_CASE("wait graph: the last one is told, however soon after the others it has called") {
  const int rounds = kit::Scaled(400);
  TestNode t({.workers = 3});
  const gen::PID a = t.Spawn(Asking());
  const gen::PID b = t.Spawn(Asking());
  const gen::PID c = t.Spawn(Asking());
  for (int i = 0; i < rounds; ++i) {
    std::atomic<int> told{0};
    // Each is in a handler of its own before the next one calls it.
    const auto call = [&](gen::PID to, std::size_t before, bool is_last) {
      return [&t, &told, to, before, is_last](Subject& self) {
        CHECK(kit::Eventually([&] { return t.node.WaitForGraph().size() == before; }));
        const auto answer = self.Call<int>(to, AskInTurn{}, kPatient);
        CHECK(answer.has_value() != is_last);
        if (!answer) CHECK(answer.error() == gen::ErrDeadlock);
        ++told;
      };
    };
    t.Begin(c, call(a, 2, true));
    t.Begin(b, call(c, 1, false));
    t.Begin(a, call(b, 0, false));
    REQUIRE(kit::Eventually([&] { return told == 3; }));
  }
  CHECK(kit::Eventually(
      [&] { return t.node.Info().dropped_expired == static_cast<std::uint64_t>(rounds); }));
}

TEST_CASE("wait graph: of two that close a circle at the same time exactly one is told") {
  const int rounds = kit::Scaled(500);
  std::atomic<int> ready{0};
  std::atomic<int> told{0};
  std::atomic<int> done{0};
  TestNode t;
  const gen::PID a = t.Spawn(Asking());
  const gen::PID b = t.Spawn(Asking());
  for (int i = 1; i <= rounds; ++i) {
    const auto call = [&, i](gen::PID to) {
      return [&, to, i](Subject& self) {
        ++ready;
        while (ready < 2 * i) self.Yield();  // both are in their handlers
        const auto answer = self.Call<int>(to, AskInTurn{}, kPatient);
        if (!answer) {
          CHECK(answer.error() == gen::ErrDeadlock);
          ++told;
        }
        ++done;
      };
    };
    t.Begin(a, call(b));
    t.Begin(b, call(a));
    REQUIRE(kit::Eventually([&] { return done == 2 * i; }));
    REQUIRE(told == i);
  }
  CHECK(kit::Eventually(
      [&] { return t.node.Info().dropped_expired == static_cast<std::uint64_t>(rounds); }));
}

TEST_CASE("wait graph: no alarm for a request that is answered later, or by somebody else") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  std::vector<std::pair<gen::PID, gen::Ref>> open;
  const gen::PID helper = t.Spawn();
  // Leaves requests open, and then calls the one who waits for it.
  const gen::PID b = t.Spawn({.call = [&](Subject&, gen::PID from, gen::Ref ref, gen::Message&) {
    open.emplace_back(from, ref);
    return gen::NoReply();
  }});
  const gen::PID a =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(7); }});
  t.Begin(a, [&](Subject& self) {
    CHECK(self.Call<int>(b, TaggedQuestion{}, {.timeout = gen::kInfinite}).value() == 4);
  });
  REQUIRE(t.EventuallyWaiting(a));
  REQUIRE(kit::Eventually([&] {
    const auto graph = t.node.WaitForGraph();
    return graph.size() == 1 && !graph[0].certain;
  }));
  std::promise<int> answer;
  t.Begin(b, [&](Subject& self) {
    answer.set_value(self.Call<int>(a, Square{2}, {.timeout = gen::kInfinite}).value());
  });
  REQUIRE(t.EventuallyWaiting(b));
  time.Pass(1s);
  const auto graph = t.node.WaitForGraph();
  REQUIRE(graph.size() == 2);
  for (const auto& edge : graph) {
    CHECK(edge.from == (edge.to == b ? a : b));
    CHECK(edge.message == (edge.from == a ? "question" : core::TypeOf<Square>()->Name()));
    CHECK(edge.certain == (edge.from == b));
    CHECK(edge.waiting == 1s);
  }
  // The third one breaks what looks like a circle.
  CHECK(t.Run(helper,
              [&](Subject& self) { CHECK(self.SendResponse(open[0].first, open[0].second, 4)); }));
  CHECK(answer.get_future().get() == 7);
  CHECK(kit::Eventually([&] { return t.node.WaitForGraph().empty(); }));
}

TEST_CASE("wait graph: no alarm for a request that was stashed or passed on") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  for (const bool stash : {true, false}) {
    CAPTURE(stash);
    kit::Gate gate(t.node);
    const gen::PID b = t.Spawn(
        {.message =
             [&](Subject& self, gen::PID, gen::Message& message) {
               const auto to = message.Take<gen::PID>();
               CHECK(self.Call<int>(to, Square{2}, {.timeout = gen::kInfinite}).value() == 9);
               return gen::Stop(gen::Reason::Normal());
             },
         .call =
             [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) {
               if (stash) {
                 self.Stash(request);
               } else {
                 CHECK(self.Forward(gate.pid(), request));
               }
               return gen::NoReply();
             }});
    const gen::PID a = t.Spawn(
        {.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::Reply(9); }});
    t.Begin(a, [&](Subject& self) {
      const auto answer = self.Call<bool>(b, kit::EnterGate{}, {.timeout = 1s});
      CHECK(answer.has_value() == !stash);
      if (!answer) CHECK(answer.error() == gen::ErrTimeout);
    });
    REQUIRE(kit::Eventually([&] {
      const auto graph = t.node.WaitForGraph();
      return graph.size() == 1 && !graph[0].certain;
    }));
    CHECK(t.node.Send(b, a));
    REQUIRE(t.EventuallyWaiting(b));
    if (stash) {
      time.Pass(2s);
    } else {
      gate.Open();
    }
    CHECK(t.Ended(b));
  }
}

TEST_CASE("wait graph: through a serializer there is no alarm, and the time-out tells") {
  TestNode t;
  const gen::PID bank =
      t.node
          .Spawn(act::Serializer::Of(
              Make({.call =
                        [](Subject& self, gen::PID, gen::Ref, gen::Message& request) {
                          const auto own = request.Take<gen::PID>();
                          const auto answer = self.Call<int>(own, own, {.timeout = 20ms});
                          CHECK(answer.error() == gen::ErrTimeout);
                          return gen::Reply(2);
                        }})))
          .value();
  CHECK(t.node.Call<int>(bank, bank, kPatient).value() == 2);
}

// Its workers call the process that the request names, and pass on how that ends.
class CallingPool : public act::Pool {
 public:
  CallingPool(act::PoolStrategy strategy, std::chrono::nanoseconds timeout)
      : strategy_(std::move(strategy)), timeout_(timeout) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 2,
        .worker_factory =
            Make({.call = [timeout = timeout_](Subject& self, gen::PID, gen::Ref,
                                               gen::Message& request) -> gen::CallResult {
              const auto to = request.Take<gen::PID>();
              auto answer = self.Call<int>(to, Square{1}, {.timeout = timeout});
              return answer ? gen::Reply(*answer) : gen::ReplyError(answer.error());
            }}),
        .strategy = strategy_};
  }

  act::PoolStrategy strategy_;
  std::chrono::nanoseconds timeout_;
};

TEST_CASE("wait graph: through a pool there is an alarm when a worker has the request") {
  TestNode t;
  const gen::PID a = t.Spawn();
  const auto outcome = [&](const act::PoolStrategy& strategy) {
    const gen::PID pool = t.node.Spawn(gen::Factory<CallingPool>(strategy, gen::kInfinite)).value();
    gen::Error error = gen::ErrUnexpectedType;  // nobody's
    CHECK(t.Run(a, [&](Subject& self) {
      error = self.Call<int>(pool, a, {.timeout = gen::kInfinite}).error();
    }));
    return error;
  };
  CHECK(outcome(act::PoolStrategy::Rotation()) == gen::ErrDeadlock);
  CHECK(outcome(act::PoolStrategy::LeastLoaded()) == gen::ErrDeadlock);
  CHECK(outcome(act::PoolStrategy::Random(7)) == gen::ErrDeadlock);
  // Here the pool chooses the worker, and looks for a circle when that has the request.
  CHECK(outcome(act::PoolStrategy::SharedQueue()) == gen::ErrDeadlock);
  const auto key = [](const gen::PID& pid) { return pid.id; };
  CHECK(outcome(act::PoolStrategy::ByKey<gen::PID>(key)) == gen::ErrDeadlock);
  // Else the workers' time-out ends it.
  const gen::PID pool =
      t.node
          .Spawn(gen::Factory<CallingPool>(act::PoolStrategy::Broadcast<gen::PID>(),
                                           std::chrono::nanoseconds(20ms)))
          .value();
  CHECK(t.Run(a, [&](Subject& self) {
    auto answers = self.Call<act::BroadcastAnswers>(pool, a, {.timeout = gen::kInfinite}).value();
    CHECK(answers.size() == 2);
    for (auto& [worker, result] : answers.Take<int>()) CHECK(result.error() == gen::ErrTimeout);
  }));
}

TEST_CASE("wait graph: a detached process is one of them like any other") {
  TestNode t;
  const gen::PID a = t.Spawn(Asking(), {.detached = true});
  const gen::PID b = t.Spawn(Asking());
  CHECK(t.node.Call<int>(a, AskInTurn{{b, a}}, kPatient).error() == gen::ErrDeadlock);
  CHECK(t.node.Call<int>(b, AskInTurn{{a, b}}, kPatient).error() == gen::ErrDeadlock);
}

TEST_CASE("wait graph: one who sleeps or is held is no part of a circle") {
  TestNode t;
  const gen::PID a = t.Spawn(Asking());
  const gen::PID b = t.Spawn(
      {.call = [](Subject& self, gen::PID from, gen::Ref, gen::Message&) -> gen::CallResult {
        CHECK(self.Sleep(20ms));
        return gen::Reply(from ? 1 : 0);
      }});
  CHECK(t.node.Call<int>(a, AskInTurn{{b}}, kPatient).value() == 2);
  CHECK(t.node.Suspend(b));
  auto waits = t.node.CallAsync<int>(a, AskInTurn{{b}}, kPatient);
  REQUIRE(t.EventuallyWaiting(a));
  CHECK(t.node.Resume(b));
  CHECK(waits.get().value() == 2);
}

TEST_CASE("wait graph: a victim that calls again, or ends, and its receiver that ends first") {
  TestNode t;
  std::atomic<int> deadlocks{0};
  const gen::PID a = t.Spawn();
  const gen::PID b = t.Spawn({.call = [&](Subject& self, gen::PID from, gen::Ref, gen::Message&) {
    for (int i = 0; i < 100; ++i) {
      const auto answer = self.Call<int>(from, Square{i}, {.timeout = gen::kInfinite});
      if (!answer && answer.error() == gen::ErrDeadlock) deadlocks.fetch_add(1);
    }
    return gen::Reply(1);
  }});
  // Ends with a hundred withdrawn requests in its mailbox.
  t.Begin(a, [&](Subject& self) {
    CHECK(self.Call<int>(b, 1, kPatient).value() == 1);
    CHECK(self.Node().Kill(self.Self()));
  });
  CHECK(t.Ended(a));
  CHECK(deadlocks == 100);
  CHECK(t.node.Info().dropped_terminated == 100);
  CHECK(t.node.Call<int>(b, Square{1}, {.timeout = kit::kDeadline}));
}

}  // namespace
}  // namespace ergon::node
