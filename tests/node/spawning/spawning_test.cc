// A spawn under a name that somebody has who is ending.
#include <atomic>
#include <future>
#include <thread>
#include <type_traits>

#include <ergon/gen/blocking.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// A process named "held", or about to be, which stays in a handler until the gate is open.
struct HeldName {
  void Hold(gen::PID pid) {
    t.Begin(pid, [this](Subject&) {
      const gen::Blocking blocking;
      gate.Enter();
    });
    CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  }
  gen::Result<gen::PID> Spawn(std::chrono::nanoseconds timeout) {
    return t.node.SpawnRegister("held", Make({}), {.init_timeout = timeout});
  }
  // Calls what spawns on another thread, opens the gate once that has begun, and returns what it has returned.
  template <class Spawns>
  std::invoke_result_t<Spawns, std::atomic<bool>&> OpenDuring(Spawns spawns) {
    std::atomic<bool> begun{false};
    auto next = std::async(std::launch::async, [&] { return spawns(begun); });
    CHECK(kit::Eventually([&] { return begun.load(); }));
    gate.Open();
    return next.get();
  }
  void CheckThatThreadWaits() {
    CHECK(Spawn(1ms).error() == gen::ErrTaken);
    const auto pid = OpenDuring([&](std::atomic<bool>& begun) {
      begun = true;
      return Spawn(gen::kInfinite);
    });
    REQUIRE(pid);
    CHECK(t.node.Resolve("held").value() == *pid);
  }

  kit::ThreadGate gate;
  TestNode t;
};

TEST_CASE("spawning: a thread waits for one that was killed, and is still in a handler") {
  HeldName h;
  const gen::PID held = h.Spawn(1s).value();
  h.Hold(held);
  CHECK(h.Spawn(gen::kInfinite).error() == gen::ErrTaken);  // nobody has killed it
  CHECK(h.t.node.Kill(held));
  h.CheckThatThreadWaits();
}

TEST_CASE("spawning: a thread waits for one that its parent takes along") {
  for (const bool is_linked : {true, false}) {
    CAPTURE(is_linked);
    HeldName h;
    const gen::PID top = h.t.Spawn();
    gen::PID parent;
    gen::PID held;
    CHECK(h.t.Run(
        top, [&](Subject& self) { parent = self.Spawn(Make({}), {.link_parent = true}).value(); }));
    CHECK(h.t.Run(parent, [&](Subject& self) {
      held = self.SpawnRegister("held", Make({}), {.link_parent = is_linked}).value();
    }));
    h.Hold(held);
    CHECK(h.t.node.Kill(top));
    REQUIRE(h.t.Ended(parent));
    if (is_linked) {
      h.CheckThatThreadWaits();
    } else {
      CHECK(h.Spawn(gen::kInfinite).error() == gen::ErrTaken);  // it goes on
      h.gate.Open();
    }
  }
}

TEST_CASE("spawning: who ends and spawns under the name of its child does not wait for itself") {
  Notes<gen::Error> errors;
  TestNode t;
  const gen::PID top = t.Spawn();
  gen::PID parent;
  CHECK(t.Run(top, [&](Subject& self) {
    parent = self.Spawn(Make({.terminate =
                                  [&errors](Subject& ending, const gen::Reason&) {
                                    const auto next = ending.SpawnRegister(
                                        "held", Make({}), {.init_timeout = gen::kInfinite});
                                    errors.Add(next ? gen::Error("spawned") : next.error());
                                  }}),
                        {.link_parent = true})
                 .value();
  }));
  CHECK(t.Run(parent, [](Subject& self) {
    CHECK(self.SpawnRegister("held", Make({}), {.link_parent = true}));
  }));
  CHECK(t.node.SendExit(top, gen::Reason::Error("enough")));
  REQUIRE(t.Ended(parent));
  CHECK(errors.All() == std::vector<gen::Error>{gen::ErrTaken});
}

TEST_CASE("spawning: a child waits for a parent that was killed, and is still in a handler") {
  HeldName h;
  const gen::PID held = h.Spawn(1s).value();
  gen::PID child;
  CHECK(h.t.Run(held, [&](Subject& self) { child = self.Spawn(Make({})).value(); }));
  h.Hold(held);
  CHECK(h.t.node.Kill(held));
  CHECK(h.OpenDuring([&](std::atomic<bool>& begun) {
    return h.t.Run(child, [&begun](Subject& self) {
      begun = true;
      CHECK(self.SpawnRegister("held", Make({}), {.init_timeout = gen::kInfinite}));
    });
  }));
}

}  // namespace
}  // namespace ergon::node
