// Processes that wait for nothing but a thread: a dump, an inspection and a time-out say so, whatever they did before.
#include <sstream>
#include <string>

#include <ergon/gen/blocking.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node::ready_test {
namespace {

struct Dig {};

// A node of whose two threads a process holds one, and another process the other one, from its first Dig until the gate
// opens.
struct OneThread {
  OneThread() {
    CHECK(t.node.Send(occupier, Dig{}));
    CHECK(kit::Eventually([&] { return occupied.Entered() == 1; }));
  }

  // The line of a process in a dump, or nothing.
  [[nodiscard]] std::string LineOf(gen::PID pid) const {
    std::stringstream stream;
    t.node.Dump(stream);
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with(pid.ToString() + " ")) return line;
    }
    return "";
  }
  [[nodiscard]] bool EventuallyHeld() const {
    return kit::Eventually([&] { return gate.Entered() == 1; });
  }
  [[nodiscard]] bool IsReady(gen::PID pid, const std::string& queued = "0") const {
    const std::string line = LineOf(pid);
    const auto info = t.node.ProcessInfo(pid);
    std::istringstream words(line.substr(line.find(" ready ") + 1));
    std::string state;
    std::string number;
    words >> state >> number;
    return state == "ready" && number == queued && line.ends_with("  waits for a thread") && info &&
           info->state == gen::ProcessState::kReady && info->handles.empty();
  }

  // Returns a process that a thread is held by from its first message until the gate opens.
  gen::PID SpawnHolder(kit::ThreadGate& until) {
    return t.Spawn({.message = [enter = until.Holder()](Subject&, gen::PID, gen::Message&) {
      enter();
      return gen::Continue();
    }});
  }

  TestNode t{{.workers = 2}};
  kit::ThreadGate occupied;
  const gen::PID occupier = SpawnHolder(occupied);
  kit::ThreadGate gate;
  const gen::PID holder = SpawnHolder(gate);
};

TEST_CASE("ready: a process between two turns handles nothing, though it has handled a message") {
  OneThread one;
  const gen::PID pid = one.t.Spawn(
      {.message = [holder = one.holder](Subject& self, gen::PID, gen::Message& message) {
        if (!message.Is<Ask>()) return gen::Continue();
        CHECK(self.Send(holder, Dig{}));
        // More than a turn may send: it ends with this message.
        for (int i = 0; i < 100; ++i) CHECK(self.Send(self.Self(), Dig{}));
        return gen::Continue();
      }});
  CHECK(one.t.node.Send(pid, Ask{}));
  REQUIRE(one.EventuallyHeld());
  CAPTURE(one.LineOf(pid));
  CHECK(one.IsReady(pid, "100"));
  CHECK(one.t.node.ProcessInfo(pid)->messages_handled == 1);
}

TEST_CASE("ready: a handler that has given way is not told to be running") {
  OneThread one;
  const gen::PID pid = one.t.Spawn();
  one.t.Begin(pid, [holder = one.holder](Subject& self) {
    CHECK(self.Send(holder, Dig{}));
    self.Yield();
  });
  REQUIRE(one.EventuallyHeld());
  CAPTURE(one.LineOf(pid));
  CHECK(one.IsReady(pid));
  // Who calls it is told what it is about, too.
  const auto late = one.t.node.Call<int>(pid, 1, {.timeout = 1ms});
  const std::string why(late.error().detail());
  CAPTURE(why);
  CHECK(why.find(" has been handling ergon::node::Do for ") != std::string::npos);
  CHECK(why.find(" and waits for a thread") != std::string::npos);
  one.gate.Open();
  CHECK(one.t.Run(pid, [](Subject&) {}));
}

TEST_CASE("ready: a Sleep that is over and a Call that has its answer are no waits any more") {
  for (const bool calls : {false, true}) {
    CAPTURE(calls);
    OneThread one;
    const gen::PID answers =
        one.t.Spawn({.call = [enter = one.gate.Holder()](Subject& self, gen::PID from, gen::Ref ref,
                                                         gen::Message&) -> gen::CallResult {
          CHECK(self.SendResponse(from, ref, 1));
          enter();
          return gen::NoReply();
        }});
    const gen::PID pid = one.t.Spawn();
    one.t.Begin(pid, [&, calls](Subject& self) {
      if (calls) {
        CHECK(self.Call<int>(answers, Dig{}, kPatient));
      } else {
        CHECK(self.Send(one.holder, Dig{}));
        CHECK(self.Sleep(1ms));
      }
    });
    REQUIRE(one.EventuallyHeld());
    CHECK(kit::Eventually([&] { return one.IsReady(pid); }));
    CAPTURE(one.LineOf(pid));
    CHECK(one.IsReady(pid));
    one.gate.Open();
    CHECK(one.t.Run(pid, [](Subject&) {}));
  }
}

TEST_CASE("ready: a blocking stretch that is over waits for a worker") {
  OneThread one;
  kit::ThreadGate blocks;
  const gen::PID pid = one.t.Spawn();
  one.t.Begin(pid, [enter = blocks.Holder()](Subject&) {
    const gen::Blocking blocking;
    enter();
  });
  REQUIRE(kit::Eventually([&] { return blocks.Entered() == 1; }));
  CHECK(!one.IsReady(pid));
  CHECK(one.t.node.Send(one.holder, Dig{}));
  REQUIRE(one.EventuallyHeld());
  blocks.Open();
  CHECK(kit::Eventually([&] { return one.IsReady(pid); }));
  one.gate.Open();
  CHECK(one.t.Run(pid, [](Subject&) {}));
}

}  // namespace
}  // namespace ergon::node::ready_test
