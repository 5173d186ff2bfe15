// Beginning with a request and its time-out exclude each other, and the caller is told which it was.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
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

// What a caller knows after a time-out.
bool WasBegun(const gen::Error& error) {
  return error.ToString().find("the request was being handled") != std::string::npos;
}
bool WillNotBe(const gen::Error& error) {
  return error.ToString().find("the request will not be handled") != std::string::npos;
}

// The time-outs of one caller of each kind that there is: a thread, a process in a Call, and a process
// that does not wait. Each asks with a number of its own.
class Callers {
 public:
  static constexpr int kKinds = 3;

  explicit Callers(TestNode& t)
      : t_(t),
        calls_(t.Spawn()),
        requests_(t.Spawn({.response = [&](Subject&, gen::Ref, gen::Response& response) {
          errors_[2] = response.ok() ? gen::Error("answered") : response.error();
          told_.fetch_add(1);
          return gen::Continue();
        }})) {}

  // All have been delivered when it returns.
  void Ask(gen::PID to, std::chrono::nanoseconds timeout) {
    const gen::CallOptions options{.timeout = timeout};
    from_outside_ = t_.node.CallAsync<int>(to, Square{0}, options);
    t_.Begin(calls_, [this, to, options](Subject& self) {
      errors_[1] = self.Call<int>(to, Square{1}, options).error();
      told_.fetch_add(1);
    });
    REQUIRE(t_.EventuallyWaiting(calls_));
    CHECK(t_.Run(requests_, [&](Subject& self) { CHECK(self.Request(to, Square{2}, options)); }));
  }
  // Waits until each was told.
  const std::vector<gen::Error>& Errors() {
    errors_[0] = from_outside_.get().error();
    REQUIRE(kit::Eventually([&] { return told_.load() == kKinds - 1; }));
    return errors_;
  }

 private:
  TestNode& t_;
  std::future<gen::Result<int>> from_outside_;
  std::atomic<int> told_{0};
  std::vector<gen::Error> errors_ =
      std::vector<gen::Error>(kKinds, gen::Error(gen::ErrorCode::kInternal));
  gen::PID calls_;
  gen::PID requests_;
};

// Counts what it has begun with, and never answers.
Handlers Counts(std::atomic<int>& begun) {
  return {.call = [&begun](Subject&, gen::PID, gen::Ref, gen::Message&) {
    begun.fetch_add(1);
    return gen::NoReply();
  }};
}

class CountingPool : public act::Pool {
 public:
  CountingPool(std::atomic<int>* begun, act::PoolStrategy strategy)
      : begun_(begun), strategy_(std::move(strategy)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 1, .worker_factory = Make(Counts(*begun_)), .strategy = strategy_};
  }
  std::atomic<int>* begun_;
  act::PoolStrategy strategy_;
};

TEST_CASE(
    "request claims: the time is up just when the callee becomes free: not begun with, and told") {
  std::atomic<int> begun{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  Callers callers(t);
  const gen::PID pid = t.Spawn(Counts(begun));
  t.Begin(pid, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  callers.Ask(pid, 10ms);
  time.Pass(10ms);  // not a moment more
  for (const gen::Error& error : callers.Errors()) {
    CHECK(error == gen::ErrTimeout);
    CHECK_MESSAGE(WillNotBe(error), error.ToString());
    CHECK_MESSAGE(!WasBegun(error), error.ToString());
  }
  gate.Open();
  CHECK(t.Run(pid, [](Subject&) {}));  // behind them
  CHECK(begun == 0);
  CHECK(t.node.Info().dropped_expired == 3);
}

TEST_CASE("request claims: begun with before the time is up, and told") {
  std::atomic<int> begun{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  Callers callers(t);
  const gen::PID pid = t.Spawn(Counts(begun));
  callers.Ask(pid, 10ms);
  REQUIRE(kit::Eventually([&] { return begun == 3; }));
  time.Pass(10ms);
  for (const gen::Error& error : callers.Errors()) {
    CHECK(error == gen::ErrTimeout);
    CHECK_MESSAGE(WasBegun(error), error.ToString());
    CHECK_MESSAGE(!WillNotBe(error), error.ToString());
  }
}

TEST_CASE("request claims: what was stashed or passed on has been begun with") {
  std::atomic<int> begun{0};
  std::atomic<int> again{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  Callers callers(t);
  const gen::PID busy = t.Spawn(Counts(again));
  t.Begin(busy, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  bool stashes = false;
  SUBCASE("stashed") { stashes = true; }
  SUBCASE("passed on") {}
  const gen::PID pid =
      t.Spawn({.call = [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) {
        ++begun;
        if (!stashes) return self.Delegate(busy, request);
        self.Stash(request);
        return gen::NoReply();
      }});
  callers.Ask(pid, 10ms);
  REQUIRE(kit::Eventually([&] { return begun == 3; }));
  time.Pass(10ms);
  for (const gen::Error& error : callers.Errors()) CHECK_MESSAGE(WasBegun(error), error.ToString());
  // Nobody begins with it once more when nobody waits.
  CHECK(t.Run(pid, [](Subject& self) { (void)self.UnstashAll(); }));
  CHECK(t.Run(pid, [](Subject&) {}));
  gate.Open();
  CHECK(t.Run(busy, [](Subject&) {}));
  CHECK(begun == 3);
  CHECK(again == 0);
}

TEST_CASE(
    "request claims: a pool does not begin with what waits for its workers, whatever the "
    "strategy") {
  const std::vector<act::PoolStrategy> strategies = {
      act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(), act::PoolStrategy::Random(),
      act::PoolStrategy::SharedQueue(),
      act::PoolStrategy::ByKey<Square>([](const Square&) { return 1u; })};
  for (const act::PoolStrategy& strategy : strategies) {
    CAPTURE(strategy.ToString());
    std::atomic<int> begun{0};
    const kit::ManualTime time;
    TestNode t(time.Into());
    kit::ThreadGate gate;
    Callers callers(t);
    const gen::PID pool = t.node.Spawn(gen::Factory<CountingPool>(&begun, strategy)).value();
    t.Begin(pool, [hold = gate.Holder()](Subject&) { hold(); });
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    callers.Ask(pool, 10ms);
    time.Pass(10ms);
    for (const gen::Error& error : callers.Errors()) {
      CHECK(error == gen::ErrTimeout);
      CHECK_MESSAGE(WillNotBe(error), error.ToString());
      CHECK_MESSAGE(!WasBegun(error), error.ToString());
    }
    gate.Open();
    CHECK(t.node.StopProcess(pool, kit::kDeadline));
    CHECK(begun == 0);
    t.node.Stop();
  }
}

TEST_CASE("request claims: a pool that broadcasts tells it of each worker") {
  std::atomic<int> begun{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  const gen::PID pool =
      t.node.Spawn(gen::Factory<CountingPool>(&begun, act::PoolStrategy::Broadcast<Square>()))
          .value();
  t.Begin(pool, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  auto call = t.node.CallAsync<act::BroadcastAnswers>(pool, Square{1}, {.timeout = 10ms});
  // That of the call, and that of the pool's own request to the worker, which has nine tenths of it.
  REQUIRE(kit::Eventually([&] { return t.node.Info().timers == 2; }));
  time.Pass(9ms);
  auto answers = call.get();
  REQUIRE(answers);
  const auto outcomes = answers->Take<int>();
  REQUIRE(outcomes.size() == 1);
  CHECK_MESSAGE(WillNotBe(outcomes[0].result.error()), outcomes[0].result.error().ToString());
  gate.Open();
  CHECK(t.node.StopProcess(pool, kit::kDeadline));
  CHECK(begun == 0);
}

TEST_CASE(
    "request claims: a caller that was ended before its time was up has asked for it all the "
    "same") {
  std::atomic<int> begun{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  const gen::PID caller = t.Spawn();
  const gen::PID pid = t.Spawn(Counts(begun));
  t.Begin(pid, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  t.Begin(caller, [&](Subject& self) { (void)self.Call<int>(pid, Square{1}, {.timeout = 10ms}); });
  REQUIRE(t.EventuallyWaiting(caller));
  t.node.Kill(caller).value();
  REQUIRE(t.Ended(caller));
  gate.Open();
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(begun == 1);
}

TEST_CASE("request claims: nobody looks into itself for one who was told that it will not") {
  std::atomic<int> inspected{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  const gen::PID caller = t.Spawn();
  const gen::PID pid = t.Spawn({.inspect = [&](Subject&, const std::vector<std::string>&) {
    inspected.fetch_add(1);
    return gen::Inspection();
  }});
  t.Begin(pid, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  std::atomic<bool> told{false};
  t.Begin(caller, [&](Subject& self) {
    auto answer = self.Inspect(pid);  // of gen::kDefaultCallTimeout
    CHECK(!answer);
    CHECK(WillNotBe(answer.error()));
    told = true;
  });
  REQUIRE(t.EventuallyWaiting(caller));
  time.Pass(gen::kDefaultCallTimeout);
  REQUIRE(kit::Eventually([&] { return told.load(); }));
  gate.Open();
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(inspected == 0);
}

TEST_CASE(
    "request claims: what a serializer's service has not begun with in time it does not begin "
    "with") {
  std::atomic<int> begun{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  Handlers service = Counts(begun);
  service.init = [](Subject& self, const gen::Args&) {
    self.RegisterName(gen::Atom("service")).value();
    return gen::Continue();
  };
  const gen::PID serializer =
      t.node.Spawn(act::Serializer::Of(Make(std::move(service)), {.service_timeout = 10ms}))
          .value();
  t.node.Send(gen::Atom("service"), Do{[hold = gate.Holder()](Subject&) { hold(); }}).value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  auto call = t.node.CallAsync<int>(serializer, Square{1}, {.timeout = 1h});
  REQUIRE(time.PassUntil([&] { return call.wait_for(0s) == std::future_status::ready; }, 10ms));
  const gen::Error error = call.get().error();
  CHECK(error == gen::ErrTimeout);
  CHECK_MESSAGE(WillNotBe(error), error.ToString());
  gate.Open();
  CHECK(t.node.Call<bool>(gen::Atom("service"), Do{[](Subject&) {}}, {.timeout = kit::kDeadline}));
  CHECK(begun == 0);
}

// ---- at full speed

// Each request has a number; who handles it notes that, and callers note what they were told.
struct Ledger {
  static constexpr int kRequests = kit::Scaled(40'000, 10);

  std::vector<std::atomic<bool>> begun = std::vector<std::atomic<bool>>(kRequests);
  std::vector<std::atomic<bool>> told_begun = std::vector<std::atomic<bool>>(kRequests);
  std::vector<std::atomic<bool>> told_not = std::vector<std::atomic<bool>>(kRequests);
  std::atomic<int> next{0};
  std::atomic<int> were_begun{0};
  std::atomic<int> will_not_be{0};

  void Note(int number, const gen::Result<int>& answer) {
    if (answer || !(answer.error() == gen::ErrTimeout)) return;
    const bool begun_with = WasBegun(answer.error());
    (begun_with ? told_begun : told_not)[static_cast<std::size_t>(number)] = true;
    ++(begun_with ? were_begun : will_not_be);
  }
  // Enough of both has been seen, or there are no numbers left.
  [[nodiscard]] bool AreFull() const {
    return next >= kRequests || (were_begun > 300 && will_not_be > 300);
  }
  void Check() {
    int told_wrong = 0;
    int not_begun = 0;
    for (std::size_t i = 0; i < begun.size(); ++i) {
      told_wrong += told_not[i] && begun[i];
      not_begun += told_begun[i] && !begun[i];
    }
    CHECK_MESSAGE(told_wrong == 0, "told that it will not be handled, and it was");
    CHECK_MESSAGE(not_begun == 0, "told that it was being handled, and it was not");
    CHECK(were_begun > 0);
    CHECK(will_not_be > 0);
  }
};

// Takes about as long as its callers wait.
Handlers Slow(Ledger& ledger) {
  return {.call = [&ledger, random = std::minstd_rand(7)](Subject& self, gen::PID, gen::Ref,
                                                          gen::Message& request) mutable {
    ledger.begun[static_cast<std::size_t>(request.As<Square>()->value)] = true;
    (void)self.Sleep(std::chrono::microseconds(random() % 300));
    return gen::Reply(1);
  }};
}

std::chrono::nanoseconds SomeTimeout(std::minstd_rand& random) {
  return std::chrono::microseconds(20 + random() % 2000);
}

class SlowPool : public act::Pool {
 public:
  SlowPool(Ledger* ledger, act::PoolStrategy strategy)
      : ledger_(ledger), strategy_(std::move(strategy)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 2, .worker_factory = Make(Slow(*ledger_)), .strategy = strategy_};
  }
  Ledger* ledger_;
  act::PoolStrategy strategy_;
};

void CallUntilFull(TestNode& t, Ledger& ledger, gen::PID to) {
  std::atomic<int> done{0};
  constexpr int kProcesses = 8;
  std::vector<gen::PID> callers;
  for (int i = 0; i < kProcesses; ++i) {
    callers.push_back(t.Spawn());
    t.Begin(callers.back(), [&, i](Subject& self) {
      std::minstd_rand random(static_cast<unsigned>(i + 1));
      while (!ledger.AreFull()) {
        const int number = ledger.next.fetch_add(1);
        if (number >= Ledger::kRequests) break;
        ledger.Note(number, self.Call<int>(to, Square{number}, {.timeout = SomeTimeout(random)}));
      }
      ++done;
    });
  }
  kit::Threads threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.Start([&, i] {
      std::minstd_rand random(i + 100);
      while (!ledger.AreFull()) {
        const int number = ledger.next.fetch_add(1);
        if (number >= Ledger::kRequests) break;
        ledger.Note(number, t.node.Call<int>(to, Square{number}, {.timeout = SomeTimeout(random)}));
      }
    });
  }
  threads.Join();
  REQUIRE(kit::Eventually([&] { return done == kProcesses; }));
  // What waits is handled before that, if it is.
  CHECK(t.node.StopProcess(to, kit::kDeadline));
}

TEST_CASE("request claims: at full speed nobody is told the wrong thing, by a process") {
  Ledger ledger;
  TestNode t;
  CallUntilFull(t, ledger, t.Spawn(Slow(ledger)));
  ledger.Check();
}

TEST_CASE("request claims: at full speed nobody is told the wrong thing, through pools") {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::SharedQueue()}) {
    CAPTURE(strategy.ToString());
    Ledger ledger;
    TestNode t;
    CallUntilFull(t, ledger, t.node.Spawn(gen::Factory<SlowPool>(&ledger, strategy)).value());
    ledger.Check();
  }
}

}  // namespace
}  // namespace ergon::node
