// Turns that take too long are named.
#include <atomic>
#include <string>
#include <thread>

#include <ergon/gen/blocking.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Slow {};

gen::NodeOptions Watched(gen::NodeOptions options = {}) {
  options.workers = 2;
  options.watchdog_after = 20ms;
  return options;
}

TEST_CASE("watchdog: names process, behaviour, message and time, once, and the end") {
  for (const auto policy :
       {gen::DispatcherPolicy::kWorkStealing, gen::DispatcherPolicy::kWorkSharing}) {
    kit::ThreadGate slow_gate;
    TestNode t(Watched({.policy = policy}));
    const gen::PID slow =
        t.Spawn({.message = [enter = slow_gate.Holder()](Subject&, gen::PID, gen::Message&) {
          enter();
          return gen::Continue();
        }});
    CHECK(t.Run(slow, [](Subject& self) { CHECK(self.RegisterName("slow_one")); }));
    CHECK(t.node.Info().busy.empty());
    CHECK(t.node.Send(slow, Slow{}));
    REQUIRE(kit::Eventually([&] { return !t.node.Info().busy.empty(); }));
    const auto busy = t.node.Info().busy;
    REQUIRE(busy.size() == 1);
    CHECK(busy[0].pid == slow);
    CHECK(busy[0].name == gen::Atom("slow_one"));
    CHECK(busy[0].behavior.find("Subject") != std::string::npos);
    CHECK(busy[0].message.find("Slow") != std::string::npos);
    CHECK(busy[0].running_for >= 20ms);
    // Its time goes on, others are served, and it is not reported again.
    CHECK(kit::Eventually([&] {
      CHECK(t.Run(t.Spawn(), [](Subject&) {}));
      return t.node.Info().busy[0].running_for >= busy[0].running_for + 40ms;
    }));
    CHECK(t.log.Count("without suspending itself") == 1);
    CHECK(t.log.Count("slow_one") == 1);
    CHECK(t.log.Count("Slow") == 1);
    CHECK(t.log.Count("has ended it") == 0);
    slow_gate.Open();
    CHECK(kit::Eventually([&] { return t.log.Count("has ended it") == 1; }));
    CHECK(t.node.Info().busy.empty());
  }
}

TEST_CASE("watchdog: Init, and several at a time, the longest first") {
  kit::ThreadGate gate;
  TestNode t(Watched());
  std::thread spawner([&] {
    CHECK(t.node.Spawn(Make({.init = [enter = gate.Holder()](Subject&, const gen::Args&) {
      enter();
      return gen::Continue();
    }})));
  });
  REQUIRE(kit::Eventually([&] { return t.node.Info().busy.size() == 1; }));
  CHECK(t.node.Info().busy[0].message.empty());
  const gen::PID second = t.Spawn();
  t.Begin(second, [enter = gate.Holder()](Subject&) { enter(); });
  // Both workers are stuck: nobody else can run, and still both are found.
  REQUIRE(kit::Eventually([&] { return t.node.Info().busy.size() == 2; }));
  const auto busy = t.node.Info().busy;
  CHECK(busy[0].running_for > busy[1].running_for);
  CHECK(busy[1].pid == second);
  gate.Open();
  spawner.join();
  CHECK(kit::Eventually([&] { return t.node.Info().busy.empty(); }));
}

TEST_CASE("watchdog: in Terminate no message is being handled, whatever was before") {
  kit::ThreadGate gate;
  TestNode t(Watched());
  const gen::PID ends =
      t.Spawn({.terminate = [enter = gate.Holder()](Subject&, const gen::Reason&) { enter(); }});
  CHECK(t.node.Send(ends, End{gen::Reason::Normal()}));
  REQUIRE(kit::Eventually([&] { return t.node.Info().busy.size() == 1; }));
  CHECK(t.node.Info().busy[0].pid == ends);
  CHECK(t.node.Info().busy[0].message == "");
  gate.Open();
}

TEST_CASE("watchdog: not those that suspend themselves, block in a stretch or are detached") {
  std::atomic<bool> done{false};
  kit::ThreadGate gate;
  TestNode t(Watched());
  const gen::PID waits = t.Spawn();
  t.Begin(waits, [](Subject& self) { (void)self.Sleep(1h); });
  const gen::PID yields = t.Spawn();
  t.Begin(yields, [&](Subject& self) {
    while (!done) self.Yield();
  });
  t.Begin(t.Spawn({}, {.detached = true}), [enter = gate.Holder()](Subject&) { enter(); });
  t.Begin(t.Spawn(), [enter = gate.Holder()](Subject&) {
    const gen::Blocking blocking;
    enter();
  });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 2; }));
  // One that is too long, as long after as the others would have taken to be noticed.
  kit::ThreadGate slow;
  t.Begin(t.Spawn(), [enter = slow.Holder()](Subject&) { enter(); });
  REQUIRE(kit::Eventually([&] { return !t.node.Info().busy.empty(); }));
  CHECK(t.node.Info().busy.size() == 1);
  CHECK(kit::Eventually([&] { return t.log.Count("without suspending itself") == 1; }));
  done = true;
  slow.Open();
  gate.Open();
}

TEST_CASE("watchdog: what receives the log lines may look at the node meanwhile") {
  kit::ThreadGate gate;
  std::atomic<const gen::Node*> watched{nullptr};
  Notes<std::size_t> busy;
  gen::NodeOptions options = Watched();
  options.log_sink = [&](gen::LogLevel, const std::string&) {
    if (const gen::Node* node = watched) busy.Add(node->Info().busy.size());
  };
  Node node = Start("test@localhost", options).value();
  watched = &node;
  const gen::PID slow =
      node.Spawn(Make({.message =
                           [enter = gate.Holder()](Subject&, gen::PID, gen::Message&) {
                             enter();
                             return gen::Continue();
                           }}))
          .value();
  CHECK(node.Send(slow, Slow{}));
  CHECK(kit::Eventually([&] { return busy.size() == 1; }));
  gate.Open();
  CHECK(kit::Eventually([&] { return busy.size() == 2; }));
  CHECK(busy.All() == std::vector<std::size_t>{1, 0});
  node.Stop();
}

TEST_CASE("watchdog: 0 is never") {
  kit::ThreadGate gate;
  TestNode off({.workers = 2, .watchdog_after = 0ns});
  TestNode on(Watched());
  off.Begin(off.Spawn(), [enter = gate.Holder()](Subject&) { enter(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  on.Begin(on.Spawn(), [enter = gate.Holder()](Subject&) { enter(); });
  REQUIRE(kit::Eventually([&] { return on.node.Info().busy.size() == 1; }));
  CHECK(off.node.Info().busy.empty());
  CHECK(off.log.Lines().empty());
  gate.Open();
}

TEST_CASE("watchdog: it wakes up again with the node after everything was asleep") {
  TestNode t(Watched());
  for (int round = 0; round < 3; ++round) {
    // Idle for so long that it has stopped looking.
    REQUIRE(kit::Eventually([&, turns = std::uint64_t{0}, same = 0]() mutable {
      const std::uint64_t now = t.node.Info().turns;
      same = now == turns ? same + 1 : 0;
      turns = now;
      return same == 500;
    }));
    kit::ThreadGate gate;
    t.Begin(t.Spawn(), [enter = gate.Holder()](Subject&) { enter(); });
    CHECK(kit::Eventually([&] { return t.node.Info().busy.size() == 1; }));
    gate.Open();
    CHECK(kit::Eventually([&] { return t.node.Info().busy.empty(); }));
  }
}

}  // namespace
}  // namespace ergon::node
