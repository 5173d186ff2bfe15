// ProcessOptions::init_timeout: an Init that takes too long is ended, and whoever waits is told.
#include <algorithm>
#include <atomic>
#include <future>
#include <string>

#include <doctest/doctest.h>

#include <ergon/act/pool.h>
#include <ergon/act/supervisor.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/supervisor.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// A node whose time passes when the test says so.
struct Timed : TestNode {
  explicit Timed(const kit::ManualTime& time_in = {}) : TestNode(time_in.Into()), time(time_in) {}

  // Spawns on a thread of its own.
  std::future<gen::Result<gen::PID>> BeginSpawn(const gen::ProcessFactory& factory,
                                                const gen::ProcessOptions& options = {}) {
    return std::async(std::launch::async, [this, factory, options] {
      return node.SpawnRegister("late", factory, options);
    });
  }
  // Some process is suspended, with its timers; another one than `except`.
  [[nodiscard]] bool SomebodyWaits(gen::PID except = {}) const {
    const auto all = node.ProcessList();
    return std::any_of(all.begin(), all.end(),
                       [&](gen::PID pid) { return pid != except && IsWaiting(pid); });
  }
  [[nodiscard]] bool EventuallySomebodyWaits() const {
    return kit::Eventually([&] { return SomebodyWaits(); });
  }

  kit::ManualTime time;
};

template <class T>
bool IsReady(const std::future<T>& future) {
  return future.wait_for(0s) == std::future_status::ready;
}
template <class T>
bool EventuallyReady(const std::future<T>& future) {
  return kit::Eventually([&] { return IsReady(future); });
}

gen::ProcessFactory SleepsInInit(std::chrono::nanoseconds duration, std::atomic<int>* unwound) {
  return Make({.init = [duration, unwound](Subject& self, const gen::Args&) {
    const Unwound guard(*unwound);
    (void)self.Sleep(duration);
    return gen::Continue();  // whatever has become of it
  }});
}

void CheckTimeout(const gen::Result<gen::PID>& spawned, const std::string& time) {
  REQUIRE_FALSE(spawned);
  CHECK(spawned.error() == gen::ErrTimeout);
  const std::string detail(spawned.error().detail());
  CHECK(detail.find("Init of <test@localhost.") == 0);
  CHECK(detail.find(" (ergon::node::Subject) has not ended within " + time) != std::string::npos);
}

TEST_CASE("init timeout: an Init that never ends is killed, and Node::Spawn returns kTimeout") {
  std::atomic<int> unwound{0};
  Timed t;
  std::string time = "5.0 s";
  gen::ProcessOptions options;
  SUBCASE("after five seconds") {}
  SUBCASE("after as long as it may") {
    options.init_timeout = 250ms;
    time = "250 ms";
  }
  SUBCASE("on a thread of its own") { options.detached = true; }
  auto spawning = t.BeginSpawn(SleepsInInit(gen::kInfinite, &unwound), options);
  REQUIRE(t.EventuallySomebodyWaits());
  t.time.Pass(options.init_timeout - 10ms);
  CHECK_FALSE(IsReady(spawning));
  t.time.Pass(20ms);
  REQUIRE(EventuallyReady(spawning));
  CheckTimeout(spawning.get(), time);
  CHECK(t.EventuallyProcesses(0));
  CHECK(unwound == 1);
  CHECK(t.node.SpawnRegister("late", Make({})));  // the name is free
}

TEST_CASE("init timeout: one that blocks its thread is ended when that is over") {
  kit::ThreadGate gate;
  Timed t;
  gen::ProcessOptions options;
  SUBCASE("a worker's") {}
  SUBCASE("its own") { options.detached = true; }
  const auto blocks = Make({.init = [&](Subject&, const gen::Args&) {
    gate.Enter();
    return gen::Continue();
  }});
  auto spawning = t.BeginSpawn(blocks, options);
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  t.time.Pass(5s + 10ms);
  REQUIRE(EventuallyReady(spawning));
  CheckTimeout(spawning.get(), "5.0 s");
  CHECK(t.node.Info().processes == 1);
  gate.Open();
  CHECK(t.EventuallyProcesses(0));
}

TEST_CASE("init timeout: the Spawn of a process returns, and the process goes on") {
  std::atomic<int> unwound{0};
  Timed t;
  gen::ProcessOptions options{.link_child = true};
  SUBCASE("a child on its fiber") {}
  SUBCASE("a child on a thread of its own") { options.detached = true; }
  const gen::PID parent = t.Spawn();
  auto run = t.node.CallAsync<bool>(
      parent, Do{[&](Subject& self) {
        CheckTimeout(self.Spawn(SleepsInInit(gen::kInfinite, &unwound), options), "5.0 s");
      }},
      {.timeout = gen::kInfinite});
  // The child, which would else be killed before it begins, and a parent that waits for another thread.
  REQUIRE(kit::Eventually(
      [&] { return t.SomebodyWaits(parent) && (!options.detached || t.IsWaiting(parent)); }));
  t.time.Pass(5s + 10ms);
  REQUIRE(EventuallyReady(run));
  CHECK(run.get().value());
  CHECK(t.EventuallyProcesses(1));
  CHECK(unwound == 1);
  CHECK(t.IsAlive(parent));
}

TEST_CASE(
    "init timeout: by the clock of the machine, too, the child ends before its parent gives up") {
  std::atomic<int> begun{0};
  std::atomic<int> unwound{0};
  std::atomic<int> terminated{0};
  TestNode t;
  const gen::PID parent = t.Spawn();
  // An Init that goes on when its wait was ended: only that its time was up tells that it has failed.
  const auto goes_on = Make({.init =
                                 [&](Subject& self, const gen::Args&) {
                                   const Unwound guard(unwound);
                                   ++begun;
                                   (void)self.Sleep(gen::kInfinite);
                                   return gen::Continue();
                                 },
                             .terminate = [&](Subject&, const gen::Reason&) { ++terminated; }});
  CHECK(t.Run(parent, [&](Subject& self) {
    CheckTimeout(self.Spawn(goes_on, {.link_child = true, .detached = true, .init_timeout = 1s}),
                 "1.0 s");
  }));
  CHECK(t.EventuallyProcesses(1));
  CHECK(unwound == begun);  // 0, if there was no thread for it in time
  CHECK(terminated == 0);
  CHECK(t.IsAlive(parent));
}

TEST_CASE("init timeout: a child that blocks the thread that was given it") {
  kit::ThreadGate gate;
  Timed t;
  const auto blocks = Make({.init = [&](Subject&, const gen::Args&) {
    gate.Enter();
    return gen::Continue();
  }});
  const gen::PID parent = t.Spawn();
  auto run = t.node.CallAsync<bool>(
      parent, Do{[&](Subject& self) {
        CheckTimeout(self.Spawn(blocks, {.link_child = true, .detached = true}), "5.0 s");
      }},
      {.timeout = gen::kInfinite});
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1 && t.IsWaiting(parent); }));
  t.time.Pass(5s + 10ms);
  REQUIRE(EventuallyReady(run));
  CHECK(run.get().value());
  CHECK(t.node.Info().processes == 2);
  gate.Open();
  CHECK(t.EventuallyProcesses(1));
  CHECK(t.IsAlive(parent));  // its Init has failed: the link does not tell once more
}

TEST_CASE("init timeout: an Init inside another one") {
  std::atomic<int> unwound{0};
  std::atomic<int> inner_errors{0};
  Timed t;
  std::chrono::nanoseconds inner{};
  bool outer_fails = false;
  SUBCASE("has less time: only that one is ended") { inner = 1s; }
  SUBCASE("has more time: both are ended") {
    inner = gen::kInfinite;
    outer_fails = true;
  }
  const auto outer = Make({.init = [&](Subject& self, const gen::Args&) {
    const Unwound guard(unwound);
    auto spawned = self.Spawn(SleepsInInit(gen::kInfinite, &unwound), {.init_timeout = inner});
    if (!spawned) inner_errors.fetch_add(1);
    return gen::Continue();
  }});
  auto spawning = t.BeginSpawn(outer);
  REQUIRE(t.EventuallySomebodyWaits());
  t.time.Pass(outer_fails ? 5s + 10ms : inner + 10ms);
  REQUIRE(EventuallyReady(spawning));
  const auto spawned = spawning.get();
  if (outer_fails) {
    CheckTimeout(spawned, "5.0 s");
  } else {
    CHECK(spawned);
  }
  CHECK(t.EventuallyProcesses(outer_fails ? 0 : 1));
  CHECK(unwound == 2);
  if (!outer_fails) CHECK(inner_errors == 1);
}

TEST_CASE("init timeout: who is in time is not ended later") {
  std::atomic<int> unwound{0};
  Timed t;
  gen::ProcessOptions options;
  std::chrono::nanoseconds takes = 4s;
  SUBCASE("just in time") {}
  SUBCASE("without a limit") {
    options.init_timeout = gen::kInfinite;
    takes = 1h;
  }
  auto spawning = t.BeginSpawn(SleepsInInit(takes, &unwound), options);
  REQUIRE(t.EventuallySomebodyWaits());
  t.time.Pass(takes + 10ms);
  REQUIRE(EventuallyReady(spawning));
  const gen::PID pid = spawning.get().value();
  t.time.Pass(1h);
  CHECK(t.Run(pid, [](Subject&) {}).value());
  // Nor is it ended by what it waits for afterwards.
  t.node.Send(pid, Do{[](Subject& self) { self.Sleep(1h); }}).value();
  REQUIRE(t.EventuallyWaiting(pid));
  t.time.Pass(1h);
  CHECK(t.Run(pid, [](Subject&) {}).value());
}

TEST_CASE("init timeout: a pool's replacement that takes too long has failed, and is tried again") {
  class Crew : public act::Pool {
   public:
    explicit Crew(gen::ProcessFactory worker) : worker_(std::move(worker)) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1, .worker_factory = worker_, .worker_init_timeout = 2s};
    }
    gen::ProcessFactory worker_;
  };
  std::atomic<int> inits{0};
  std::atomic<int> unwound{0};
  Timed t;
  const auto worker = Make(
      {.init =
           [&](Subject& self, const gen::Args&) {
             const Unwound guard(unwound);
             if (inits.fetch_add(1) == 1) (void)self.Sleep(gen::kInfinite);
             return gen::Continue();
           },
       .call = [](Subject&, gen::PID, gen::Ref,
                  gen::Message& request) { return gen::Reply(10 * request.Take<Ask>().value); }});
  const gen::PID pool = t.node.Spawn(gen::Factory<Crew>(worker)).value();
  t.node.Send(pool, End{gen::Reason::Error("crash")}).value();
  REQUIRE(kit::Eventually([&] { return inits == 2; }));
  auto answer = t.node.CallAsync<int>(pool, Ask{4}, {.timeout = gen::kInfinite});
  REQUIRE(t.EventuallySomebodyWaits());
  REQUIRE(t.time.PassUntil([&] { return IsReady(answer); }, 100ms));
  CHECK(answer.get().value() == 40);
  CHECK(inits >= 3);  // a slow machine may be too late for another one
  CHECK(unwound == inits);
}

TEST_CASE("init timeout: a supervisor's child that takes too long is started again") {
  kit::Diary diary;
  std::atomic<int> inits{0};
  Timed t;
  const auto child = Make({.init = [&](Subject& self, const gen::Args&) {
    if (inits.fetch_add(1) == 1) (void)self.Sleep(gen::kInfinite);
    return gen::Continue();
  }});
  act::SupervisorSpec spec;
  spec.children = {{.name = "child", .factory = child, .options = {.init_timeout = 2s}}};
  (void)t.node.Spawn(kit::MakeSupervisor(spec, &diary)).value();
  const gen::PID first = t.node.Resolve("child").value();
  t.node.Kill(first).value();
  REQUIRE(kit::Eventually([&] { return inits == 2; }));
  REQUIRE(t.EventuallySomebodyWaits());
  REQUIRE(t.time.PassUntil([&] { return inits >= 3; }, 10ms));
  CHECK(kit::Eventually([&] {
    const auto pid = t.node.Resolve("child");
    return pid && t.node.Call<bool>(*pid, Do{[](Subject&) {}}, {.timeout = gen::kInfinite});
  }));
}

TEST_CASE("init timeout: it is more than 0") {
  TestNode t;
  for (const auto& [wrong, text] : {std::pair{0ns, "0"}, std::pair{-5ns, "-5ns"}}) {
    auto refused = t.node.Spawn(Make({}), {.init_timeout = wrong});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == gen::ErrIncorrect);
    CHECK(refused.error().detail() ==
          std::string("init_timeout: ") + text + ", has to be more than 0 (kInfinite: no limit)");
  }
}

}  // namespace
}  // namespace ergon::node
