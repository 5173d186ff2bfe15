// How long each process has run, and how often.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/hook_chain.h>
#include <ergon/gen/scheduled_process.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

void Spin(std::chrono::nanoseconds duration) {
  const std::int64_t end = core::SteadyClock().Now() + duration.count();
  while (core::SteadyClock().Now() < end) {
  }
}

TEST_CASE("running time: what its turns took, not what it waited; and its turns") {
  TestNode t({.workers = 2, .measure_running_time = true});
  for (const bool detached : {false, true}) {
    const gen::PID pid = t.Spawn({}, {.detached = detached});
    const gen::PID other = t.Spawn();
    kit::Gate gate(t.node);
    // A turn counts when it is over, which is told by the number of turns only: a thread may be held up in its last
    // step.
    const auto eventually_turns = [&](std::uint64_t turns) {
      return kit::Eventually([&] { return t.node.ProcessInfo(pid)->turns == turns; });
    };
    REQUIRE(eventually_turns(1));  // that of Init
    const auto init_took = t.node.ProcessInfo(pid)->running_time;
    t.Begin(pid, [gate = gate.pid()](Subject& self) {
      Spin(5ms);
      (void)self.Call<bool>(gate, kit::EnterGate{}, kPatient);
      Spin(5ms);
    });
    REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
    REQUIRE(eventually_turns(2));
    const auto before_wait = t.node.ProcessInfo(pid)->running_time;
    CHECK(before_wait - init_took >= 5ms);
    std::this_thread::sleep_for(50ms);  // so that it would be seen if the wait counted
    CHECK(t.node.ProcessInfo(pid)->running_time == before_wait);
    const std::chrono::nanoseconds goes_on(core::SteadyNow());
    gate.Open();
    REQUIRE(eventually_turns(3));
    const auto after_wait = t.node.ProcessInfo(pid)->running_time - before_wait;
    const std::chrono::nanoseconds ended(core::SteadyNow());
    CHECK(after_wait >= 5ms);
    // By the same clock, and all of the turn lies between the two looks at it.
    CHECK(after_wait <= ended - goes_on);
    CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_handled == 1; }));
    CHECK(t.node.ProcessInfo(other)->turns <= 1);
  }
}

TEST_CASE("running time: a new process in an old slot begins at 0") {
  TestNode t({.workers = 2, .measure_running_time = true});
  for (int i = 0; i < 100; ++i) {
    const gen::PID pid = t.Spawn();
    const auto running_time = t.node.ProcessInfo(pid)->running_time;
    CHECK(running_time <= t.node.ProcessInfo(pid)->uptime);
    CHECK(t.node.ProcessInfo(pid)->turns <= 1);
    CHECK(t.Run(pid, [](Subject&) { Spin(2ms); }));
    CHECK(t.node.Send(pid, End{}));
    CHECK(t.Ended(pid));
  }
}

TEST_CASE("running time: off unless asked for") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [](Subject&) { Spin(1ms); }));
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(t.node.ProcessInfo(pid)->running_time == 0ns);
  CHECK(t.node.ProcessInfo(pid)->turns == 0);
}

// Knows the processes whose turns it sees.
class Names final : public core::DispatcherHooks {
 public:
  void BeforeTurn(core::Schedulable& schedulable, int) override {
    const gen::Process* const process = gen::ProcessOf(schedulable);
    if (process != nullptr && process->Name() == gen::Atom("watched")) before.fetch_add(1);
  }
  void AfterTurn(core::Schedulable&, int, core::TurnEnd) override { after.fetch_add(1); }

  std::atomic<int> before{0};
  std::atomic<int> after{0};
};

TEST_CASE("running time: beside the user's own hooks, of which there may be several") {
  auto one = std::make_shared<Names>();
  auto two = std::make_shared<Names>();
  using Hooks = std::vector<std::shared_ptr<core::DispatcherHooks>>;
  TestNode t({.workers = 2,
              .hooks = std::make_shared<core::HookChain>(Hooks{one, two}),
              .measure_running_time = true});
  const gen::PID pid = t.Spawn();
  CHECK(t.Run(pid, [](Subject& self) { CHECK(self.RegisterName("watched")); }));
  CHECK(kit::Eventually([&] {
    CHECK(t.Run(pid, [](Subject&) { Spin(1ms); }));
    return one->before > 1;
  }));
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->running_time >= 1ms; }));
  CHECK(two->before > 1);
  CHECK(one->after > 1);
}

}  // namespace
}  // namespace ergon::node
