#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <ergon/act/actor.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::simulation_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Number {
  int value = 0;
};

// Notes the numbers it gets, and passes them on.
class Relay : public act::Actor {
 public:
  Relay(std::vector<int>* seen, gen::PID next) : seen_(seen), next_(next) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const Number number = *message.As<Number>();
    seen_->push_back(number.value);
    if (next_) CHECK(Send(next_, number));
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    (void)Sleep(100ms);  // false: killed, as some tests do
    return gen::Reply(request.As<Number>()->value + 1);
  }

  std::vector<int>* seen_;
  gen::PID next_;
};

// A run with some of everything: two sinks that several relays send to, timers, a kill.
std::uint64_t MixedRun(std::uint64_t seed, std::vector<int>& seen) {
  Simulation sim(seed);
  auto& node = sim.Node("test@localhost");
  const gen::PID sink = node.Spawn(gen::Factory<Relay>(&seen, gen::PID())).value();
  std::vector<gen::PID> relays;
  for (int i = 0; i < 5; ++i) {
    relays.push_back(node.Spawn(gen::Factory<Relay>(&seen, sink)).value());
  }
  for (int i = 0; i < 20; ++i) {
    CHECK(node.Send(relays[static_cast<std::size_t>(i) % relays.size()], Number{i}));
  }
  CHECK(node.SendAfter(relays[0], Number{100}, sim.Random(1ms, 10ms)));
  sim.Kill(relays[1], sim.Random(0us, 100us));
  auto answers = sim.CallMany<int>(relays[2], 3, [](int i) { return Number{i}; });
  sim.RunUntilIdle();
  for (int i = 0; i < 3; ++i) CHECK(answers[static_cast<std::size_t>(i)].get().value() == i + 1);
  return sim.TraceHash();
}

TEST_CASE("simulation: the same seed gives the same run, another seed another one") {
  std::vector<std::uint64_t> hashes;
  std::vector<std::vector<int>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<int> first;
    std::vector<int> second;
    hashes.push_back(MixedRun(seed, first));
    CHECK(MixedRun(seed, second) == hashes.back());
    CHECK(first == second);
    orders.push_back(first);
  }
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::unique(hashes.begin(), hashes.end()) == hashes.end());
  std::sort(orders.begin(), orders.end());
  CHECK(std::unique(orders.begin(), orders.end()) - orders.begin() > 15);
}

TEST_CASE("simulation: time is virtual, and passes while a call waits") {
  std::vector<int> seen;
  Simulation sim(7);
  auto& node = sim.Node("test@localhost");
  const gen::PID relay = node.Spawn(gen::Factory<Relay>(&seen, gen::PID())).value();
  const auto before = sim.Now();
  CHECK(node.Call<int>(relay, Number{41}).value() == 42);
  CHECK(sim.Now() - before >= 100ms);
  CHECK(sim.Now() - before < 101ms);
  CHECK(node.Call<int>(relay, Number{1}, {.timeout = 50ms}).error() == gen::ErrTimeout);
  sim.RunFor(24h);
  CHECK(sim.Now() >= 24h);
  CHECK(sim.Now() < 24h + 1s);
}

TEST_CASE("simulation: nodes with options, and calls that are looked at later") {
  struct Ask {
    using Reply = int;
  };
  struct Answers : act::Actor {
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
      return gen::Reply(Env<int>("answer").value_or(0));
    }
  };
  int seeds = 0;
  Simulation::ForSeeds(1, 3,
                       [&seeds](Simulation& sim) {
                         ++seeds;
                         auto& node = sim.Node("test@localhost", {.environment = {{"answer", 42}}});
                         CHECK(&sim.Node("test@localhost") == &node);
                         const gen::PID pid = node.Spawn(gen::Factory<Answers>()).value();
                         auto answer = sim.CallLater(pid, Ask{});
                         CHECK_FALSE(answer.ready());
                         sim.RunUntilIdle();
                         CHECK(answer.get().value() == 42);
                         auto answers = sim.CallMany(pid, 3, [](int) { return Ask{}; });
                         sim.RunUntilIdle();
                         REQUIRE(answers.size() == 3);
                         CHECK(answers[2].get().value() == 42);
                       },
                       {.throughput_most = 1});
  CHECK(seeds >= 1);  // 3, if the environment asks for no others
}

TEST_CASE("simulation: plans by time and by turns") {
  std::vector<int> seen;
  std::vector<std::string> order;
  Simulation sim(1);
  auto& node = sim.Node("test@localhost");
  sim.After(2ms, [&] { order.push_back("2 ms"); });
  sim.After(1ms, [&] { order.push_back("1 ms"); });
  sim.RunUntilIdle();
  CHECK(order == std::vector<std::string>{"1 ms", "2 ms"});
  CHECK(sim.Now() >= 2ms);

  const gen::PID relay = node.Spawn(gen::Factory<Relay>(&seen, gen::PID())).value();
  std::uint64_t at = 0;
  const std::uint64_t turns = sim.Turns();
  sim.AfterTurns(2, [&] { at = sim.Turns(); });
  for (int i = 0; i < 5; ++i) {
    CHECK(node.Send(relay, Number{i}));
    sim.RunUntilIdle();
  }
  CHECK(at == turns + 2);
  CHECK(sim.RunUntil([&] { return seen.size() == 5; }));
  CHECK_FALSE(sim.RunUntil([&] { return seen.size() == 6; }));
}

TEST_CASE("simulation: nodes stop in virtual time, also from a handler") {
  class Stopper : public act::Actor {
    gen::Status HandleMessage(gen::PID, gen::Message&) override {
      Node().Stop();
      return gen::Continue();
    }
  };
  std::vector<int> seen;
  Simulation sim(3);
  auto& one = sim.Node("one@localhost");
  auto& two = sim.Node("two@localhost");
  CHECK(&one == &sim.Node("one@localhost"));
  const gen::PID stopper = one.Spawn(gen::Factory<Stopper>()).value();
  const gen::PID relay = two.Spawn(gen::Factory<Relay>(&seen, gen::PID())).value();
  auto answers = sim.CallMany<int>(relay, 1, [](int i) { return Number{i}; });
  CHECK(one.Send(stopper, Number{}));
  sim.StopNode("two@localhost", 10ms);
  sim.RunUntilIdle();
  CHECK(one.Send(stopper, Number{}).error() == gen::ErrNodeTerminated);
  CHECK(two.Send(relay, Number{}).error() == gen::ErrNodeTerminated);
  CHECK(answers[0].get().value() == 1);  // it was being handled: the node waited
}

TEST_CASE("simulation: a node is asked to stop while it stops") {
  std::vector<int> seen;
  Simulation sim(4);
  auto& node = sim.Node("test@localhost");
  const gen::PID relay = node.Spawn(gen::Factory<Relay>(&seen, gen::PID())).value();
  auto answer = sim.CallLater<int>(relay, Number{1});
  for (int i = 0; i < 2; ++i) sim.StopNode("test@localhost", 10ms);  // its handler takes longer
  sim.RunUntilIdle();
  CHECK(answer.get().value() == 2);
  CHECK(node.Send(relay, Number{}).error() == gen::ErrNodeTerminated);
}

TEST_CASE("simulation: what an action throws while a call waits is told when the call is over") {
  std::vector<int> seen;
  Simulation sim(5);
  auto& node = sim.Node("test@localhost");
  const gen::PID relay = node.Spawn(gen::Factory<Relay>(&seen, gen::PID())).value();
  sim.After(10ms, [] { throw std::runtime_error("planned"); });
  CHECK(node.Call<int>(relay, Number{1}).value() == 2);
  CHECK_THROWS_WITH_AS(sim.RunUntilIdle(), "planned", std::runtime_error);
  sim.RunUntilIdle();
  CHECK_THROWS_AS(sim.Kill(gen::PID(), 1ms), std::invalid_argument);
}

TEST_CASE("simulation: handlers have the stacks that the node's options say") {
  constexpr std::size_t kBytes = 400 * 1024;  // more than usual
  bool is_done = false;
  Simulation sim(6);
  auto& node = sim.Node("test@localhost", {.handler_stack_bytes = 4 * kBytes});
  CHECK(node.Spawn([&is_done](gen::Process&) {
    volatile char bytes[kBytes];
    for (std::size_t i = 0; i < kBytes; i += 1024) bytes[i] = 1;
    is_done = bytes[0] == 1;
  }));
  sim.RunUntilIdle();
  CHECK(is_done);
}

TEST_CASE("simulation: detached processes share the thread") {
  std::vector<int> seen;
  Simulation sim(5);
  auto& node = sim.Node("test@localhost");
  const gen::PID relay =
      node.Spawn(gen::Factory<Relay>(&seen, gen::PID()), {.detached = true}).value();
  CHECK(node.Call<int>(relay, Number{1}).value() == 2);
}

TEST_CASE("simulation: faults happen as often as asked for, and are counted") {
  Faults faults;
  faults.factory_failure = 0.2;
  faults.init_failure = 0.2;
  FaultCounts all;
  std::uint64_t attempts = 0;
  Simulation::ForSeeds(1, 50, [&](Simulation& sim) {
    std::vector<int> seen;
    auto& node = sim.Node("test@localhost");
    int spawned = 0;
    attempts += 10;
    for (int i = 0; i < 10; ++i) {
      const auto factory = sim.WithFaults(gen::Factory<Relay>(&seen, gen::PID()), faults);
      if (node.Spawn(factory)) ++spawned;
    }
    CHECK(static_cast<std::uint64_t>(10 - spawned) == sim.faults().Total());
    all.factory_failures += sim.faults().factory_failures;
    all.init_failures += sim.faults().init_failures;
  });
  // Two of ten attempts, and two of ten of the others; a few seeds (ERGON_SEED) tell nothing of that.
  if (attempts < 100) return;
  CHECK(all.factory_failures > attempts / 10);
  CHECK(all.factory_failures < attempts * 3 / 10);
  CHECK(all.init_failures > attempts * 8 / 100);
  CHECK(all.init_failures < attempts * 26 / 100);
}

TEST_CASE("simulation: each fault does what it says") {
  std::vector<int> seen;
  const auto one_call = [&](const Faults& faults, auto&& check) {
    Simulation sim(11);
    auto& node = sim.Node("test@localhost");
    const auto factory = sim.WithFaults(gen::Factory<Relay>(&seen, gen::PID()), faults);
    const gen::PID pid = node.Spawn(factory).value();
    auto answers = sim.CallMany<int>(pid, 1, [](int i) { return Number{i}; }, {.timeout = 1s});
    sim.RunUntilIdle();
    check(sim, answers[0].get(), node.ProcessInfo(pid).has_value());
    CHECK(sim.faults().Total() == 1);
  };
  one_call({.throw_before = 1}, [](Simulation& sim, auto& answer, bool alive) {
    CHECK(answer.error() == gen::ErrProcessTerminated);
    CHECK_FALSE(alive);
    CHECK(sim.Log().size() == 1);
  });
  one_call({.throw_after = 1}, [](Simulation&, auto& answer, bool alive) {
    CHECK(answer.value() == 1);
    CHECK_FALSE(alive);
  });
  one_call({.stop_after = 1}, [](Simulation&, auto& answer, bool alive) {
    CHECK(answer.value() == 1);
    CHECK_FALSE(alive);
  });
  one_call({.kill = 1}, [](Simulation&, auto& answer, bool alive) {
    CHECK(answer.value() == 1);  // it had answered before
    CHECK_FALSE(alive);
  });
  one_call({.lost_response = 1}, [](Simulation& sim, auto& answer, bool alive) {
    CHECK(answer.error() == gen::ErrTimeout);
    CHECK(alive);
    CHECK(sim.Now() >= 1s);
  });
  one_call({.slow = 1, .slow_most = 500ms}, [](Simulation& sim, auto& answer, bool alive) {
    CHECK(answer.value() == 1);
    CHECK(alive);
    CHECK(sim.Now() > 100ms);
  });
}

TEST_CASE("simulation: a mailbox that is made small is full, and as before afterwards") {
  std::vector<int> seen;
  Simulation sim(2);
  auto& node = sim.Node("test@localhost");
  const auto factory = sim.WithFaults(gen::Factory<Relay>(&seen, gen::PID()), {.full_mailbox = 1});
  const gen::PID pid = node.Spawn(factory).value();
  CHECK(node.Send(pid, Number{1}));
  sim.RunUntilIdle();  // now it is small
  CHECK(node.Send(pid, Number{2}));
  CHECK(node.Send(pid, Number{3}).error() == gen::ErrProcessMailboxFull);
  sim.RunUntilIdle();
  CHECK(node.Send(pid, Number{4}));
  CHECK(node.Send(pid, Number{5}));
  sim.RunUntilIdle();
  CHECK(seen == std::vector<int>{1, 2, 4, 5});
}

TEST_CASE("simulation: what cannot be is refused with its value") {
  Simulation sim(1);
  CHECK_THROWS_WITH_AS((void)sim.Random(2, 1), "Random: 2..1 is no range", std::invalid_argument);
  CHECK_THROWS_AS((void)sim.Node("no host"), gen::BadResult);
  CHECK(sim.Random(5, 5) == 5);
  for (int i = 0; i < 100; ++i) {
    const auto time = sim.Random(1ms, 2ms);
    CHECK(time >= 1ms);
    CHECK(time <= 2ms);
  }
}

TEST_CASE("simulation: options that cannot be are refused with their values") {
  const auto start = [](const SimulationOptions& options) { const Simulation sim(1, options); };
  CHECK_THROWS_WITH_AS(start({.turn_time_most = -1ns}),
                       "turn_time_most: -1ns, must not be negative", std::invalid_argument);
  CHECK_THROWS_WITH_AS(start({.throughput_most = 0}), "throughput_most: 0 is outside 1..4096",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(start({.throughput_most = 4097}), "throughput_most: 4097 is outside 1..4096",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(start({.turns_most = 0}), "turns_most: 0, has to be more than 0",
                       std::invalid_argument);
  start({.turn_time_most = 0ns, .throughput_most = 4096});
}

TEST_CASE("simulation: faults that cannot be are refused with their values") {
  Simulation sim(1);
  const auto make = [&](const Faults& faults) {
    (void)sim.WithFaults(gen::Factory<Relay>(nullptr, gen::PID()), faults);
  };
  CHECK_THROWS_WITH_AS(make({.factory_failure = 1.5}), "factory_failure: 1.5 is outside 0..1",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(make({.full_mailbox = -0.1}), "full_mailbox: -0.1 is outside 0..1",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(make({.kill = std::numeric_limits<double>::quiet_NaN()}),
                       "kill: nan is outside 0..1", std::invalid_argument);
  CHECK_THROWS_WITH_AS(make({.slow = 0.1, .slow_most = 0ns}), "slow_most: 0, must be more than 0",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(make({.slow = 0.1, .slow_most = -1ns}),
                       "slow_most: -1ns, must be more than 0", std::invalid_argument);
  make({.throw_before = 1, .slow_most = 0ns});
}

TEST_CASE("simulation: an infinite time is never, not at once") {
  std::vector<std::string> order;
  Simulation sim(1);
  sim.RunFor(1h);
  sim.After(gen::kInfinite, [&] { order.emplace_back("never"); });
  sim.AfterTurns(std::numeric_limits<std::uint64_t>::max(), [&] { order.emplace_back("neither"); });
  std::vector<int> seen;
  auto& node = sim.Node("test@localhost");
  CHECK(node.Call<int>(node.Spawn(gen::Factory<Relay>(&seen, gen::PID())).value(), Number{1}));
  sim.RunUntilIdle();
  CHECK(order.empty());
  sim.After(24h, [&] { order.emplace_back("tomorrow"); });
  sim.RunFor(gen::kInfinite);
  CHECK(order == std::vector<std::string>{"tomorrow"});
  CHECK(sim.Now() < 26h);
}

// An environment variable, while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* former = std::getenv(name)) former_ = former;
    Set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { Set(former_ ? former_->c_str() : nullptr); }

 private:
  void Set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* const name_;
  std::optional<std::string> former_;
};

TEST_CASE("simulation: the seeds that the environment asks for") {
  using Seeds = std::vector<std::uint64_t>;
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  const Variable seed("ERGON_SEED", nullptr);
  const Variable count("ERGON_SEED_COUNT", nullptr);
  CHECK(SeedsToRun(5, 7) == Seeds{5, 6, 7});
  CHECK(SeedsToRun(kLast, kLast) == Seeds{kLast});
  CHECK_THROWS_WITH_AS(SeedsToRun(7, 5), "last: 5, must be at least first, 7",
                       std::invalid_argument);
  {
    const Variable three("ERGON_SEED_COUNT", "3");
    CHECK(SeedsToRun(5, 5) == Seeds{5, 6, 7});
    CHECK(SeedsToRun(kLast - 2, kLast).size() == 3);
    CHECK_THROWS_WITH_AS(SeedsToRun(kLast - 1, kLast), "ERGON_SEED_COUNT: '3', must be at most 2",
                         std::invalid_argument);
    const Variable one("ERGON_SEED", "17");
    CHECK(SeedsToRun(5, 5) == Seeds{17});
  }
  {
    const Variable none("ERGON_SEED_COUNT", "0");
    for (const std::uint64_t first : {1, 0}) {
      CHECK_THROWS_WITH_AS(SeedsToRun(first, 5), "ERGON_SEED_COUNT: '0', must be more than 0",
                           std::invalid_argument);
    }
  }
  const Variable word("ERGON_SEED_COUNT", "many");
  CHECK_THROWS_WITH_AS(SeedsToRun(1, 5), "ERGON_SEED_COUNT: 'many' is not a number",
                       std::invalid_argument);
}

// Runs `function` in a process of its own, which has to abort; returns what that has written to standard error.
std::string AbortsWith(const std::function<void()>& function) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::signal(SIGABRT, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    ::alarm(120);  // if it goes on for ever
    [&]() noexcept { function(); }();
    ::_exit(0);
  }
  REQUIRE(pid != -1);
  ::close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t bytes = 0; (bytes = ::read(ends[0], part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(bytes));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  return text;
}

TEST_CASE(
    "simulation: what is planned again and again without a turn is told, and ends the program") {
  CHECK(AbortsWith([] {
          Simulation sim(1, {.turns_most = 1'000});
          auto& node = sim.Node("test@localhost");
          (void)node.SendEvery("nobody", Number{}, 1s);
          sim.RunUntilIdle();
        }).find("no process had a turn") != std::string::npos);
  CHECK(AbortsWith([] {
          Simulation sim(1, {.turns_most = 1'000});
          std::function<void()> again = [&] { sim.After(1s, again); };
          again();
          (void)sim.RunUntil([] { return false; });
        }).find("no process had a turn") != std::string::npos);
  CHECK(AbortsWith([] {
          Simulation sim(1, {.turns_most = 1'000});
          std::function<void()> at_once = [&] { sim.After(0s, at_once); };
          at_once();
          sim.RunFor(1s);
        }).find("no process had a turn") != std::string::npos);
  // A time that ends does so.
  Simulation sim(1, {.turns_most = 1'000});
  auto& node = sim.Node("test@localhost");
  const auto ticks = node.SendEvery("nobody", Number{}, 1s);
  REQUIRE(ticks);
  sim.RunFor(2'000s);
  CHECK(sim.Now() >= 2'000s);
  CHECK(ticks->Cancel());
}

TEST_CASE(
    "simulation: of two notices of seeds, one in the other, the outer one is there afterwards") {
  const std::string text = AbortsWith([] {
    const SeedNotice outer(7);
    { const SeedNotice inner(8); }
    std::abort();
  });
  CHECK(text.find("ERGON_SEED=7") != std::string::npos);
  CHECK(text.find("ERGON_SEED=8") == std::string::npos);
}

}  // namespace
}  // namespace ergon::testkit::simulation_test
