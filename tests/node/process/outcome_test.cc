// How a process ends that an exit signal ends in a wait.
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ergon/gen/notices.h>
#include <ergon/gen/task.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

// The reason with which a process ends, and whether one that is linked to it ends, too.
struct Outcome {
  gen::Reason reason;
  bool takes_along = false;
};

// Waits until the process is in its wait, and ends it by a signal.
Outcome EndInWait(TestNode& t, gen::PID pid, gen::PID linked, const gen::Reason& with) {
  REQUIRE(kit::Eventually([&] {
    if (t.node.ProcessInfo(linked)->links.empty()) return false;  // it has yet to link them
    const gen::ProcessState state = t.node.ProcessInfo(pid)->state;
    return state == gen::ProcessState::kWaiting || state == gen::ProcessState::kIdle;  // Receive
  }));
  std::optional<gen::Reason> reason;
  const gen::PID watcher = t.node
                               .Spawn([&](gen::Process& self) {
                                 self.Monitor(pid).value();
                                 self.SendExit(pid, with).value();
                                 reason = self.Receive<gen::MessageDownPID>().value().reason;
                               })
                               .value();
  REQUIRE(t.node.WaitProcess(watcher, kit::kDeadline));
  return {*reason, t.node.WaitProcess(linked, kit::kDeadline).has_value()};
}

struct Wait {
  std::string name;
  std::function<void(gen::Process&, gen::PID never)> wait;
};

std::vector<Wait> AllWaits() {
  const gen::CallOptions forever{.timeout = gen::kInfinite};
  return {{"Sleep", [](gen::Process& self, gen::PID) { (void)self.Sleep(1h); }},
          {"Receive", [](gen::Process& self, gen::PID) { (void)self.Receive<int>(); }},
          {"Call", [forever](gen::Process& self,
                             gen::PID never) { (void)self.Call<int>(never, 1, forever); }},
          {"Call().value()",
           [forever](gen::Process& self, gen::PID never) {
             (void)self.Call<int>(never, 1, forever).value();
           }},
          {"a process of its own", [](gen::Process& self, gen::PID) {
             (void)self.Async([](gen::Process& task) { (void)task.Sleep(1h); })
                 .value()
                 .Await(gen::kInfinite)
                 .value();
           }}};
}

TEST_CASE("outcome: a function that an exit signal ends in a wait ends with the signal's reason") {
  TestNode t;
  const gen::PID never =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  for (const Wait& wait : AllWaits()) {
    for (const gen::Reason& with : {gen::Reason::Error("x"), gen::Reason::Shutdown()}) {
      CAPTURE(wait.name);
      CAPTURE(with.ToString());
      const gen::PID linked = t.Spawn();
      const gen::PID pid = t.node
                               .Spawn([&](gen::Process& self) {
                                 self.Link(linked).value();
                                 wait.wait(self, never);
                               })
                               .value();
      const Outcome outcome = EndInWait(t, pid, linked, with);
      CHECK(outcome.reason == with);
      CHECK(outcome.takes_along);
    }
  }
  CHECK_FALSE(t.log.Contains("panic"));
}

TEST_CASE("outcome: a handler that throws because its wait was ended has not failed") {
  TestNode t;
  const gen::PID never =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  const gen::PID linked = t.Spawn();
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [&](Subject& self) {
    self.Link(linked).value();
    (void)self.Call<int>(never, 1, {.timeout = gen::kInfinite}).value();
  });
  const Outcome outcome = EndInWait(t, pid, linked, gen::Reason::Error("x"));
  CHECK(outcome.reason == gen::Reason::Error("x"));
  CHECK(outcome.takes_along);
  CHECK_FALSE(t.log.Contains("panic"));
}

TEST_CASE("outcome: a signal that ends nobody changes no reason") {
  TestNode t;
  const gen::PID pid = t.node
                           .Spawn([](gen::Process& self) {
                             self.SetTrapExit(true);
                             (void)self.Receive<int>();
                             throw std::runtime_error("boom");
                           })
                           .value();
  std::optional<gen::Reason> reason;
  const gen::PID watcher = t.node
                               .Spawn([&](gen::Process& self) {
                                 self.Monitor(pid).value();
                                 self.SendExit(pid, gen::Reason::Error("x")).value();
                                 self.Send(pid, 1).value();
                                 reason = self.Receive<gen::MessageDownPID>().value().reason;
                               })
                               .value();
  REQUIRE(t.node.WaitProcess(watcher, kit::kDeadline));
  CHECK(reason->ToString() == "panic: boom (handling int)");
}

}  // namespace
}  // namespace ergon::node
