// A policy that the node's owner brings along, with everything else the node's own.
#include <atomic>
#include <memory>

#include <ergon/core/turns/worker.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include <ergon/gen/blocking.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE(
    "own policy: time, detached processes, blocking stretches and the watchdog are the node's") {
  for (const auto make : {&core::MakeWorkStealing, &core::MakeWorkSharing}) {
    kit::ThreadGate gate;
    std::atomic<int> fired{0};
    std::shared_ptr<core::Dispatcher> dispatcher = make({.workers = 2, .throughput = 5});
    TestNode t({.watchdog_after = 20ms, .dispatcher = dispatcher});
    CHECK(t.node.Info().workers == 2);
    CHECK(t.node.Info().throughput == 5);
    const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message&) {
      fired.fetch_add(1);
      return gen::Continue();
    }});
    CHECK(t.Run(pid, [&](Subject& self) {
      CHECK(&core::Worker::Current()->dispatcher() == dispatcher.get());
      CHECK(self.Sleep(1ms));
      CHECK(self.SendAfter(self.Self(), 1, 1ms));
      const gen::Blocking blocking;
      CHECK(&core::Worker::Current()->dispatcher() != dispatcher.get());
    }));
    CHECK(kit::Eventually([&] { return fired == 1; }));
    CHECK(t.node.Info().blocking_lent == 1);
    const gen::PID detached = t.Spawn({}, {.detached = true});
    CHECK(t.Run(detached, [&](Subject&) {
      CHECK(&core::Worker::Current()->dispatcher() != dispatcher.get());
    }));
    t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
    CHECK(kit::Eventually([&] { return t.node.Info().busy.size() == 1; }));
    gate.Open();
  }
}

TEST_CASE("own policy: what only the node's own dispatchers can do is refused") {
  const auto node = Start("test@localhost", {.measure_running_time = true,
                                             .dispatcher = core::MakeWorkSharing({.workers = 2})});
  REQUIRE(!node);
  CHECK(node.error() == gen::ErrIncorrect);
  CHECK(node.error().detail() ==
        "measure_running_time: true, but the given dispatcher has hooks of its own");
}

}  // namespace
}  // namespace ergon::node
