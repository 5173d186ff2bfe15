// act::StateMachine without a node. Timers cannot be cancelled here, so that every time-out that is
// cancelled arrives nevertheless.
#include <ergon/act/state_machine.h>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include <kit/state_machine.h>

#include "fake_host.h"

namespace ergon::act {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using kit::Act;
using kit::Diary;
using kit::MachineScript;
using kit::Phase;
using kit::ScriptedMachine;
using testing::FakeHost;
using Lines = std::vector<std::string>;

struct MachineSubject {
  explicit MachineSubject(MachineScript script = {}) : machine(std::move(script), &diary) {
    host.Start(machine);
  }
  void Send(int number) {
    (void)host.Deliver(gen::EnvelopeKind::kMessage, core::Lane::kMain, number);
  }
  void Ask(int number, std::uint64_t ref) {
    (void)host.Deliver(gen::EnvelopeKind::kRequest, core::Lane::kMain, number, ref);
  }
  template <class F>
  void Do(F function, core::Lane lane = core::Lane::kMain) {
    (void)host.Deliver(gen::EnvelopeKind::kMessage, lane, Act{std::move(function)});
  }
  void GoTo(Phase phase) {
    Do([phase](ScriptedMachine& self, StateEvent&) { return self.GoTo(phase); });
  }
  Lines Run() {
    host.Run();
    return diary.Take();
  }
  Lines Advance(std::chrono::nanoseconds time) {
    host.Advance(time);
    return diary.Take();
  }
  gen::Inspection Inspect(std::vector<std::string> items = {}) {
    host.responses.clear();
    (void)host.Deliver(gen::EnvelopeKind::kInspect, core::Lane::kUrgent,
                       gen::InspectRequest{std::move(items)}, 99);
    host.Run();
    return *host.responses.at(0).envelope->ValueAs<gen::Inspection>();
  }

  Diary diary;
  FakeHost host;
  ScriptedMachine machine;
};

MachineScript PostponesInIdle() {
  return {.handle = [](ScriptedMachine& self, StateEvent& event) {
    if (self.CurrentState() == Phase::kIdle) return self.Postpone();
    return event.IsRequest() ? self.Keep().Reply(*event.As<int>()) : self.Keep();
  }};
}

TEST_CASE("state machine: cancelled and replaced time-outs that arrive are not handled") {
  MachineSubject subject;
  subject.Do([](ScriptedMachine& self, StateEvent&) {
    return self.Keep().StateTimeout(1s, 1).EventTimeout(1s, 2).Timeout("a", 1s, 3).Timeout("b", 1s);
  });
  subject.Run();
  CHECK(subject.Inspect().at("timeouts") == "state, event, a, b");
  subject.Do([](ScriptedMachine& self, StateEvent&) {  // any event ends the event time-out
    return self.Keep().CancelTimeout("a").StateTimeout(2s, 4);
  });
  subject.Run();
  CHECK(subject.Advance(1s) == Lines{"idle time-out 'b'"});
  CHECK(subject.Advance(1s) == Lines{"idle state time-out 4"});
  CHECK(subject.Advance(10s).empty());

  subject.Do([](ScriptedMachine& self, StateEvent&) {
    return self.Keep().StateTimeout(1s).Timeout("a", 1s);
  });
  subject.Run();
  subject.GoTo(Phase::kBusy);
  subject.Run();
  CHECK(subject.Advance(1s) == Lines{"busy time-out 'a'"});
}

TEST_CASE("state machine: a time-out waits behind what has arrived before it") {
  MachineSubject subject;
  subject.Do([](ScriptedMachine& self, StateEvent&) {
    return self.Keep().StateTimeout(1s).EventTimeout(2s);
  });
  subject.Run();
  subject.Send(1);  // waits while the timers fire
  subject.host.main_is_held = true;
  CHECK(subject.Advance(5s).empty());
  subject.host.main_is_held = false;
  CHECK(subject.Run() == Lines{"idle 1", "idle state time-out"});
}

TEST_CASE("state machine: postponed events of every kind are retried in order") {
  MachineSubject subject(PostponesInIdle());
  subject.host.traps_exit = true;
  subject.Send(1);
  subject.Ask(2, 7);
  subject.Run();
  subject.host.Signal(gen::EnvelopeKind::kExit,
                      gen::MessageExitPID{FakeHost::Pid(9), gen::Reason::Kill()}, FakeHost::Pid(9));
  subject.Run();
  subject.Do([](ScriptedMachine& self, StateEvent&) {
    return self.Keep().Raise(3).StateTimeout(1s, 4).Timeout("a", 0s, 5);
  });
  CHECK(subject.Run() == Lines{"idle !3", "idle time-out 'a' 5"});
  CHECK(subject.Advance(1s) == Lines{"idle state time-out 4"});
  CHECK(subject.Inspect().at("postponed") == "6");
  subject.host.responses.clear();
  subject.GoTo(Phase::kIdle);  // no change
  CHECK(subject.Run().empty());
  subject.GoTo(Phase::kBusy);
  subject.Send(6);
  CHECK(subject.Run() == Lines{"busy 1", "busy ?2", "busy exit killed", "busy !3",
                               "busy time-out 'a' 5", "busy state time-out 4", "busy 6"});
  REQUIRE(subject.host.responses.size() == 1);
  CHECK(*subject.host.responses[0].envelope->ValueAs<int>() == 2);
  CHECK(subject.Inspect().at("postponed") == "0");
}

TEST_CASE("state machine: a high priority message overtakes what is retried") {
  MachineSubject subject(PostponesInIdle());
  subject.Send(1);
  subject.Send(2);
  subject.Run();
  subject.GoTo(Phase::kBusy);
  REQUIRE(subject.host.Step());
  (void)subject.host.Deliver(gen::EnvelopeKind::kMessage, core::Lane::kSystem, 3);
  CHECK(subject.Run() == Lines{"busy 3", "busy 1", "busy 2"});
}

TEST_CASE("state machine: a full stash drops what is postponed") {
  MachineSubject subject(PostponesInIdle());
  subject.host.stash_size = 1;
  subject.Send(1);
  subject.Send(2);
  subject.Run();
  CHECK(subject.host.dropped.size() == 1);
  CHECK(subject.Inspect().at("postponed") == "1");
  CHECK(subject.host.logs.back().text ==
        "an event was dropped that was to be postponed: stash_size is reached");
}

TEST_CASE("state machine: due time-outs come after all of its own events") {
  MachineSubject subject(PostponesInIdle());
  subject.Send(1);
  subject.Run();
  subject.diary.Take();
  subject.Do([](ScriptedMachine& self, StateEvent&) {
    return self.GoTo(Phase::kBusy).Timeout("a", 0s).EventTimeout(0s).StateTimeout(-1s).Raise(2);
  });
  subject.Send(3);
  CHECK(subject.Run() ==
        Lines{"busy !2", "busy 1", "busy time-out 'a'", "busy state time-out", "busy 3"});
  subject.Do([](ScriptedMachine& self, StateEvent&) { return self.Keep().EventTimeout(0s); });
  subject.Send(4);
  CHECK(subject.Run() == Lines{"busy event time-out", "busy 4"});
}

TEST_CASE("state machine: what nobody handles") {
  MachineSubject subject(
      {.handle = [](ScriptedMachine& self, StateEvent& event) { return self.Unhandled(event); }});
  subject.Send(1);
  subject.Ask(2, 7);
  subject.Run();
  const std::string client = FakeHost::Pid(FakeHost::kClient).ToString();
  REQUIRE(subject.host.logs.size() == 2);
  CHECK(subject.host.logs[0].text == "unhandled message int from " + client + " in state 'idle'");
  CHECK(subject.host.logs[0].level == gen::LogLevel::kWarning);
  CHECK(subject.host.logs[1].text == "unhandled request int from " + client + " in state 'idle'");
  const auto* error = subject.host.responses.at(0).envelope->ValueAs<gen::Error>();
  REQUIRE(error != nullptr);
  CHECK(*error == gen::ErrUnsupported);
  CHECK(error->detail() == "request int in state 'idle'");
}

TEST_CASE("state machine: inspection") {
  MachineSubject subject;
  CHECK(subject.Inspect() ==
        gen::Inspection{{"mine", "1"}, {"postponed", "0"}, {"state", "idle"}, {"timeouts", ""}});
  CHECK(subject.Inspect({"state"}) == gen::Inspection{{"state", "idle"}});
}

// -- mistakes --

struct Mistaken : StateMachine<int> {
  std::function<Transition(Mistaken&)> init;
  using StateMachine::GoTo;
  using StateMachine::In;
  using StateMachine::Keep;
  using StateMachine::Postpone;
  Transition Init(const gen::Args&) override { return init(*this); }
  static Transition Nothing(StateEvent&) { return Keep(); }
};

TEST_CASE("state machine: a mistake in the table or in Init makes the spawn fail") {
  struct Row {
    const char* reason;
    std::function<Transition(Mistaken&)> init;
  };
  const std::vector<Row> rows = {
      {"state 'b': must be in the table once",
       [](Mistaken& self) {
         self.In(1, "a", Mistaken::Nothing);
         self.In(1, "b", Mistaken::Nothing);
         return self.GoTo(1);
       }},
      {"state 'a': must have a handler",
       [](Mistaken& self) {
         self.In(1, "a", std::function<Transition(StateEvent&)>());
         return self.GoTo(1);
       }},
      {"Init: must return GoTo(the first state), or Stop",
       [](Mistaken& self) { return self.Keep(); }},
      {"panic: GoTo: a state that is not in the table",  // of states that are no enumeration
       [](Mistaken& self) { return self.GoTo(1); }},
      {"no", [](Mistaken&) -> Transition { return gen::Stop(gen::Reason::Error("no")); }},
      {"panic: Reply: there is no request",
       [](Mistaken& self) {
         self.In(1, "a", Mistaken::Nothing);
         return self.GoTo(1).Reply(1);
       }},
      {"not me",
       [](Mistaken& self) {
         self.In(1, "a", Mistaken::Nothing,
                 [](const int&) -> Entry { return gen::Stop(gen::Reason::Error("not me")); });
         return self.GoTo(1);
       }},
      {"raised", [](Mistaken& self) {
         self.In(1, "a",
                 [](StateEvent&) -> Transition { return gen::Stop(gen::Reason::Error("raised")); });
         return self.GoTo(1).Raise(1);
       }}};
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    FakeHost host;
    Mistaken machine;
    machine.init = row.init;
    CHECK_FALSE(host.Start(machine));
    CHECK(host.end_reason.ToString() == row.reason);
  }
}

TEST_CASE("state machine: a reply to a raised event ends it") {
  MachineSubject subject({.handle = [](ScriptedMachine& self, StateEvent& event) {
    return event.kind() == StateEventKind::kRaised ? self.Keep().Reply(1) : self.Keep().Raise(2);
  }});
  subject.Send(1);
  subject.Run();
  CHECK(subject.host.end_reason.ToString().starts_with(
      "panic: Caller: nobody waits for an answer to raised int"));
}

}  // namespace
}  // namespace ergon::act
