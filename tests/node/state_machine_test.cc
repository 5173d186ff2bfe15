// act::StateMachine on a node: the rules of OTP's gen_statem, one case each, and what callers see.
#include <ergon/act/state_machine.h>

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <ergon/act/pool.h>
#include <kit/manual_time.h>
#include <kit/state_machine.h>

#include "subject.h"

namespace ergon::node {
namespace {

using act::Caller;
using act::StateEvent;
using act::Transition;
using kit::Act;
using kit::Diary;
using kit::Eventually;
using kit::MachineScript;
using kit::Phase;
using kit::ScriptedMachine;
using Lines = std::vector<std::string>;

// Before the node: machines write until that ends.
struct Notebook {
  Diary diary;
};

struct Machines : Notebook, TestNode {
  explicit Machines(gen::NodeOptions options = {}) : TestNode(std::move(options)) {}

  gen::PID Start(MachineScript script = {}, const gen::ProcessOptions& options = {}) {
    return node.Spawn(kit::MakeMachine(std::move(script), diary), options).value();
  }
  // What a function returns is followed in the machine's turn; not waited for.
  template <class F>
  void Do(gen::PID machine, F function,
          gen::MessagePriority priority = gen::MessagePriority::kNormal) {
    node.SendWithPriority(machine, Act{std::move(function)}, priority).value();
  }
  void GoTo(gen::PID machine, Phase phase) {
    Do(machine, [phase](ScriptedMachine& self, StateEvent&) { return self.GoTo(phase); });
  }
  void Send(gen::PID machine, int first, int last) {
    for (int i = first; i <= last; ++i) node.Send(machine, i).value();
  }
  // Everything that was sent before has been handled.
  void Sync(gen::PID machine) {
    const auto answered = node.Call<bool>(
        machine, Act{[](ScriptedMachine& self, StateEvent&) { return self.Keep().Reply(true); }},
        {.timeout = kit::kDeadline});
    REQUIRE(answered);
  }
  Lines Handled(gen::PID machine) {
    Sync(machine);
    return diary.Take();
  }
  bool EventuallyLines(const Lines& lines) {
    return Eventually([&] { return diary.Lines() == lines; });
  }
  std::string Key(gen::PID machine, const char* key) {
    return node.Inspect(machine).value().at(key);
  }
};

MachineScript PostponesInIdle() {
  return {.handle = [](ScriptedMachine& self, StateEvent& event) {
    if (self.CurrentState() == Phase::kIdle) return self.Postpone();
    return event.IsRequest() ? self.Keep().Reply(*event.As<int>()) : self.Keep();
  }};
}

Transition Nothing(ScriptedMachine& self, StateEvent&) { return self.Keep(); }

// -- states --

TEST_CASE("machines: a reply to a message is dropped, and the machine goes on") {
  Machines m;
  const gen::PID machine = m.Start();
  m.Do(machine, [](ScriptedMachine& self, StateEvent&) { return self.Keep().Reply(true); });
  m.Sync(machine);  // a request is answered as before
  CHECK(m.log.Contains("an answer was dropped: nobody waits for one to message "));
}

TEST_CASE("state machine: entry handlers are called at the start, on a change and on Repeat") {
  Machines test;
  const gen::PID machine = test.Start({.enter = [](ScriptedMachine&) { return act::Entry(); }});
  CHECK(test.Handled(machine) == Lines{"enter idle from idle"});
  test.GoTo(machine, Phase::kIdle);  // no change
  test.Do(machine, Nothing);
  CHECK(test.Handled(machine).empty());
  test.GoTo(machine, Phase::kDone);
  test.Do(machine, [](ScriptedMachine& self, StateEvent&) { return self.Repeat(); });
  CHECK(test.Handled(machine) == Lines{"enter done from idle", "enter done from done"});
}

TEST_CASE("state machine: a state can be left as soon as it is entered") {
  Machines test;
  const gen::PID machine = test.Start(
      {.handle = [](ScriptedMachine& self, StateEvent&) { return self.GoTo(Phase::kDone); },
       .enter =
           [](ScriptedMachine& self) {
             if (self.CurrentState() != Phase::kBusy) return act::Entry();
             return act::Entry().StateTimeout(0s);
           }});
  test.GoTo(machine, Phase::kBusy);
  test.Do(machine, Nothing);
  CHECK(test.Handled(machine) == Lines{"enter idle from idle", "enter busy from idle",
                                       "busy state time-out", "enter done from busy"});
}

TEST_CASE("state machine: raised events of Init are handled when the spawn returns") {
  Machines test;
  (void)test.Start(
      {.init = [](ScriptedMachine& self) { return self.GoTo(Phase::kBusy).Raise(1).Raise(2); }});
  CHECK(test.diary.Take() == Lines{"busy !1", "busy !2"});
}

TEST_CASE("state machine: its end") {
  Machines test;
  SUBCASE("by Stop, after the answers") {
    const gen::PID machine = test.Start();
    const auto answer = test.node.Call<int>(machine, Act{[](ScriptedMachine& self, StateEvent&) {
                                              return self.Stop(gen::Reason::Normal()).Reply(1);
                                            }});
    CHECK(answer.value() == 1);
    CHECK(test.Ended(machine));
    CHECK(test.diary.Take() == Lines{"end normal"});
  }
  SUBCASE("by an exception: the caller is told") {
    const gen::PID machine = test.Start({.handle = [](ScriptedMachine&, StateEvent&) -> Transition {
      throw std::runtime_error("oh");
    }});
    CHECK(test.node.Call<int>(machine, 1).error().ToString() ==
          "process terminated: panic: oh (handling int)");
  }
  SUBCASE("by the entry handler") {
    const gen::PID machine = test.Start({.enter = [](ScriptedMachine& self) -> act::Entry {
      if (self.CurrentState() == Phase::kIdle) return {};
      return gen::Stop(gen::Reason::Error("not here"));
    }});
    CHECK(test.node
              .Call<int>(machine, Act{[](ScriptedMachine& self, StateEvent&) {
                           return self.GoTo(Phase::kBusy);
                         }})
              .error()
              .ToString() == "process terminated: not here");
  }
  SUBCASE("in Init: the spawn fails and no timer is left") {
    const auto spawned = test.node.Spawn(
        kit::MakeMachine({.init =
                              [](ScriptedMachine& self) {
                                return self.GoTo(Phase::kIdle).StateTimeout(1h).Raise(1);
                              },
                          .handle = [](ScriptedMachine&, StateEvent&) -> Transition {
                            return gen::Stop(gen::Reason::Error("no"));
                          }},
                         test.diary));
    CHECK(spawned.error().detail() == "no");
    CHECK(test.diary.Take() == Lines{"idle !1"});
    CHECK(Eventually([&] { return test.node.Info().timers == 0; }));
  }
}

// -- postponed events --

TEST_CASE("state machine: postponed events are retried when the state changes, before newer ones") {
  Machines test;
  const gen::PID machine = test.Start(PostponesInIdle());
  test.Send(machine, 1, 3);
  test.GoTo(machine, Phase::kIdle);  // no change
  test.Send(machine, 4, 4);
  test.Sync(machine);
  CHECK(test.Key(machine, "postponed") == "4");
  CHECK(test.diary.Take() == Lines{"idle 1", "idle 2", "idle 3", "idle 4"});
  REQUIRE(test.node.Suspend(machine));
  test.GoTo(machine, Phase::kBusy);
  test.Send(machine, 5, 6);
  REQUIRE(test.node.Resume(machine));
  CHECK(test.Handled(machine) == Lines{"busy 1", "busy 2", "busy 3", "busy 4", "busy 5", "busy 6"});
  CHECK(test.Key(machine, "postponed") == "0");
}

TEST_CASE("state machine: an event postponed by the transition that leaves the state comes next") {
  Machines test;
  const gen::PID machine = test.Start({.handle = [](ScriptedMachine& self, StateEvent&) {
    if (self.CurrentState() == Phase::kBusy) return self.Keep();
    return self.GoTo(Phase::kBusy).Postpone();
  }});
  REQUIRE(test.node.Suspend(machine));
  test.Send(machine, 1, 2);
  REQUIRE(test.node.Resume(machine));
  CHECK(test.Handled(machine) == Lines{"idle 1", "busy 1", "busy 2"});
}

TEST_CASE("state machine: a request is answered from the state that can") {
  Machines test;
  const gen::PID machine = test.Start(PostponesInIdle());
  auto answer = test.node.CallAsync<int>(machine, 7, {.timeout = kit::kDeadline});
  CHECK(Eventually([&] { return test.Key(machine, "postponed") == "1"; }));
  test.GoTo(machine, Phase::kBusy);
  CHECK(answer.get().value() == 7);
  CHECK(test.Handled(machine) == Lines{"idle ?7", "busy ?7"});
}

TEST_CASE("state machine: a request is answered later") {
  Machines test;
  std::vector<Caller> callers;
  const gen::PID machine = test.Start({.handle = [&](ScriptedMachine& self, StateEvent& event) {
    if (event.IsRequest()) callers.push_back(event.Caller());
    return self.Keep();
  }});
  auto one = test.node.CallAsync<int>(machine, 1, {.timeout = kit::kDeadline});
  auto two = test.node.CallAsync<int>(machine, 2, {.timeout = kit::kDeadline});
  auto three = test.node.CallAsync<int>(machine, 3, {.timeout = kit::kDeadline});
  test.Do(machine, [&](ScriptedMachine& self, StateEvent&) {
    return self.GoTo(Phase::kBusy)
        .ReplyTo(callers.at(1), 22)
        .ReplyErrorTo(callers.at(0), gen::ErrNotAllowed);
  });
  CHECK(two.get().value() == 22);
  CHECK(one.get().error() == gen::ErrNotAllowed);
  REQUIRE(test.node.SendExit(machine, gen::Reason::Shutdown()));
  CHECK(three.get().error() == gen::ErrProcessTerminated);
}

TEST_CASE("state machine: callers of postponed requests are told when it ends") {
  Machines test;
  for (const bool kill : {false, true}) {
    const gen::PID machine = test.Start(PostponesInIdle());
    test.Send(machine, 1, 1);
    auto answer = test.node.CallAsync<int>(machine, 2, {.timeout = kit::kDeadline});
    CHECK(Eventually([&] { return test.Key(machine, "postponed") == "2"; }));
    if (kill) {
      REQUIRE(test.node.Kill(machine));
    } else {
      REQUIRE(test.node.SendExit(machine, gen::Reason::Shutdown()));
    }
    CHECK(answer.get().error() == gen::ErrProcessTerminated);
  }
  CHECK(Eventually([&] { return test.node.MessageBalance().dropped_terminated == 4; }));
}

TEST_CASE("state machine: a postponed request whose caller has given up is not retried") {
  const kit::ManualTime time;
  Machines test(time.Into());
  const gen::PID machine = test.Start(PostponesInIdle());
  auto answer = test.node.CallAsync<int>(machine, 1, {.timeout = 1s});
  test.Send(machine, 2, 2);
  CHECK(test.Handled(machine) == Lines{"idle ?1", "idle 2"});
  time.Pass(2s);
  CHECK(answer.get().error() == gen::ErrTimeout);
  test.GoTo(machine, Phase::kBusy);
  CHECK(test.Handled(machine) == Lines{"busy 2"});
  CHECK(test.node.MessageBalance().dropped_expired == 1);
}

TEST_CASE("state machine: stash_size bounds what is postponed") {
  Machines test;
  const gen::PID machine = test.Start(PostponesInIdle(), {.stash_size = 2});
  test.Send(machine, 1, 2);
  CHECK(test.node.Call<int>(machine, 3).error() == gen::ErrProcessMailboxFull);
  test.diary.Take();
  test.GoTo(machine, Phase::kBusy);
  CHECK(test.Handled(machine) == Lines{"busy 1", "busy 2"});
  CHECK(Eventually([&] { return test.node.MessageBalance().dropped_mailbox_full == 1; }));
  CHECK(test.log.Contains("an event was dropped that was to be postponed"));
}

TEST_CASE("state machine: notices, published values and high priority messages can be postponed") {
  Machines test;
  const gen::PID machine = test.Start(PostponesInIdle());
  const gen::PID dies = test.Spawn();
  const gen::PID linked = test.Spawn();
  const gen::PID producer = test.Spawn();
  gen::Ref token;
  REQUIRE(test.Run(producer, [&](Subject& self) { token = self.RegisterEvent("n").value(); }));
  test.Do(machine, [&](ScriptedMachine& self, StateEvent&) {
    self.SetTrapExit(true);
    self.Monitor(dies).value();
    self.MonitorEvent(gen::Event{"n", {}}).value();
    return self.Keep();
  });
  test.Sync(machine);
  REQUIRE(test.Run(linked, [&](Subject& self) { self.Link(machine).value(); }));
  const auto postponed = [&](const char* count) {
    return Eventually([&] { return test.Key(machine, "postponed") == count; });
  };
  REQUIRE(test.node.Send(dies, End{gen::Reason::Error("d")}));
  REQUIRE(postponed("1"));
  test.node.SendWithPriority(machine, 5, gen::MessagePriority::kMax).value();
  REQUIRE(postponed("2"));
  REQUIRE(test.node.Send(linked, End{gen::Reason::Error("e")}));
  REQUIRE(postponed("3"));
  REQUIRE(test.Run(producer, [&](Subject& self) { self.SendEvent("n", token, 6).value(); }));
  REQUIRE(postponed("4"));
  test.diary.Take();
  test.GoTo(machine, Phase::kBusy);
  CHECK(test.Handled(machine) == Lines{"busy down d", "busy 5", "busy exit e", "busy =6"});
}

TEST_CASE("state machine: what a worker of a pool has postponed is handled by another") {
  struct Pool : act::Pool {
    explicit Pool(gen::ProcessFactory worker_in) : worker(std::move(worker_in)) {}
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1, .worker_factory = worker};
    }
    gen::ProcessFactory worker;
  };
  Machines test;
  std::atomic<bool> first = true;
  const auto worker =
      kit::MakeMachine({.init =
                            [&](ScriptedMachine& self) {
                              return self.GoTo(first.exchange(false) ? Phase::kIdle : Phase::kBusy);
                            },
                        .handle = PostponesInIdle().handle},
                       test.diary);
  const gen::PID pool = test.node.Spawn(gen::Factory<Pool>(worker)).value();
  test.Send(pool, 1, 1);
  auto answer = test.node.CallAsync<int>(pool, 2, {.timeout = kit::kDeadline});
  test.Do(pool, [](ScriptedMachine& self, StateEvent&) {
    return self.Keep().Raise(3).Timeout("a", 0s);  // postponed as well, and forgotten with it
  });
  CHECK(Eventually([&] { return test.diary.Lines().size() == 4; }));
  test.Do(pool, [](ScriptedMachine&, StateEvent&) -> Transition { throw std::runtime_error("x"); });
  CHECK(answer.get().value() == 2);
  CHECK(test.EventuallyLines({"idle 1", "idle ?2", "idle !3", "idle time-out 'a'",
                              "end panic: x (handling ergon::kit::Act)", "busy 1", "busy ?2"}));
}

TEST_CASE("state machine: in a mailbox ordered by priority, postponed events are as well") {
  Machines test;
  gen::ProcessOptions options;
  options.mailbox = gen::Mailbox::Priority<int>([](const int& value) { return value; });
  const gen::PID machine = test.Start(PostponesInIdle(), options);
  test.Send(machine, 3, 3);
  test.Send(machine, 1, 1);
  test.Do(machine,
          [](ScriptedMachine& self, StateEvent&) { return self.Keep().Timeout("a", 1ns); });
  CHECK(Eventually([&] { return test.Key(machine, "postponed") == "3"; }));
  test.diary.Take();
  test.node
      .SendWithPriority(
          machine, Act{[](ScriptedMachine& self, StateEvent&) { return self.GoTo(Phase::kBusy); }},
          gen::MessagePriority::kHigh)
      .value();
  CHECK(test.EventuallyLines({"busy time-out 'a'", "busy 1", "busy 3"}));
}

// -- raised events --

TEST_CASE("state machine: raised events come before what waits, whatever its priority") {
  Machines test;
  const gen::PID machine = test.Start();
  test.Do(machine, [&](ScriptedMachine& self, StateEvent&) {
    test.node.Send(machine, 1).value();
    test.node.SendWithPriority(machine, 2, gen::MessagePriority::kMax).value();
    return self.GoTo(Phase::kBusy).Raise(3).Raise(4);
  });
  CHECK(test.EventuallyLines({"busy !3", "busy !4", "busy 2", "busy 1"}));
}

// -- time-outs --

enum class Door : std::uint8_t { kClosed, kOpen };

// As README.md has it: whoever asks for it has the door open for ten seconds.
class AutomaticDoor : public act::StateMachine<Door> {
 public:
  AutomaticDoor() {
    In(Door::kClosed, "closed", &AutomaticDoor::Closed);
    In(Door::kOpen, "open", &AutomaticDoor::Open);
  }

 private:
  Transition Init(const gen::Args&) override { return GoTo(Door::kClosed); }
  Transition Closed(StateEvent&) { return GoTo(Door::kOpen).Reply(true).StateTimeout(10s); }
  Transition Open(StateEvent& event) {
    if (event.IsStateTimeout()) return GoTo(Door::kClosed);
    return Keep().Reply(false);
  }
};

TEST_CASE("state machine: to another state, with an answer and a state time-out") {
  const kit::ManualTime time;
  TestNode test(time.Into());
  const gen::PID door = test.node.Spawn(gen::Factory<AutomaticDoor>()).value();
  const auto opens = [&] { return test.node.Call<bool>(door, Ask{}, kPatient).value(); };
  CHECK(opens());
  CHECK_FALSE(opens());
  time.Pass(10s - 1ns);
  CHECK_FALSE(opens());
  time.Pass(1ns);
  CHECK(Eventually([&] { return test.node.Inspect(door).value().at("state") == "closed"; }));
  CHECK(opens());
}

TEST_CASE("state machine: a state time-out ends with the state") {
  Machines test;
  const gen::PID machine = test.Start();
  SUBCASE("it fires") {
    test.Do(machine, [](ScriptedMachine& self, StateEvent&) {
      return self.GoTo(Phase::kBusy).StateTimeout(1ms, 7);
    });
    CHECK(test.EventuallyLines({"busy state time-out 7"}));
  }
  SUBCASE("a change cancels it") {
    test.Do(machine, [](ScriptedMachine& self, StateEvent&) {
      return self.GoTo(Phase::kBusy).StateTimeout(1h).EventTimeout(1h).Timeout("a", 1h);
    });
    test.Sync(machine);
    CHECK(test.Key(machine, "timeouts") == "state, a");  // Sync was an event
    test.GoTo(machine, Phase::kBusy);
    test.Sync(machine);
    CHECK(test.Key(machine, "timeouts") == "state, a");
    test.GoTo(machine, Phase::kIdle);
    test.Sync(machine);
    CHECK(test.Key(machine, "timeouts") == "a");
    CHECK(test.node.Info().timers == 1);
    test.Do(machine, [](ScriptedMachine& self, StateEvent&) {
      return self.Keep().CancelTimeout("a").CancelStateTimeout();
    });
    test.Sync(machine);
    CHECK(Eventually([&] { return test.node.Info().timers == 0; }));
  }
}

TEST_CASE("state machine: an event time-out fires only when nothing comes") {
  Machines test;
  const gen::PID machine = test.Start();
  test.Do(machine, [](ScriptedMachine& self, StateEvent&) {
    return self.Keep().EventTimeout(1ms).Timeout("a", gen::kInfinite);
  });
  CHECK(test.EventuallyLines({"idle event time-out"}));
  CHECK(test.Key(machine, "timeouts").empty());
  // An event that has arrived before the timer fires comes first, however late it is handled.
  test.Do(machine, [&](ScriptedMachine& self, StateEvent&) {
    test.node.Send(machine, 1).value();
    return self.Keep().EventTimeout(1ns).Timeout("b", 1ns);
  });
  CHECK(test.EventuallyLines({"idle event time-out", "idle 1", "idle time-out 'b'"}));
}

TEST_CASE("state machine: a time-out that has fired already is cancelled nevertheless") {
  Machines test;
  const gen::PID machine = test.Start();
  constexpr int kRounds = kit::Scaled(500);
  for (int round = 0; round < kRounds; ++round) {
    test.Do(machine, [](ScriptedMachine& self, StateEvent&) {
      return self.GoTo(Phase::kBusy).StateTimeout(1ns).EventTimeout(1ns).Timeout("a", 1ns);
    });
    test.Do(machine, [](ScriptedMachine& self, StateEvent&) {
      (void)self.Sleep(10us);  // they fire now, if they have not yet
      return self.GoTo(Phase::kDone).CancelTimeout("a");
    });
    test.GoTo(machine, Phase::kIdle);
  }
  test.Sync(machine);
  // Those that came before their end were handled in time.
  for (const std::string& line : test.diary.Take()) CHECK(line.starts_with("busy "));
}

TEST_CASE("state machine: an update changes the value, not the time") {
  const kit::ManualTime time;
  Machines test(time.Into());
  const gen::PID machine = test.Start();
  test.Do(machine, [](ScriptedMachine& self, StateEvent&) {
    return self.Keep().Timeout("a", 5s, 1).UpdateStateTimeout(2);
  });
  CHECK(test.Handled(machine) == Lines{"idle state time-out 2"});
  time.Pass(3s);
  test.Do(machine,
          [](ScriptedMachine& self, StateEvent&) { return self.Keep().UpdateTimeout("a", 3); });
  CHECK(test.Handled(machine).empty());
  time.Pass(2s);
  CHECK(test.EventuallyLines({"idle time-out 'a' 3"}));
}

TEST_CASE("state machine: the outcome of a request is an event, and may be postponed") {
  Machines test;
  const gen::PID other = test.Spawn(
      {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        if (*request.As<int>() == 0) return gen::ReplyError(gen::ErrNotAllowed);
        return gen::Reply(*request.As<int>() + 1);
      }});
  std::vector<gen::Ref> refs;
  int answers = 0;
  const gen::PID machine = test.Start({.handle = [&](ScriptedMachine& self, StateEvent& event) {
    if (self.CurrentState() == Phase::kIdle) return self.Postpone();
    if (event.IsResponse(refs.at(0))) answers += event.Response().Take<int>().value();
    if (event.IsResponse(refs.at(1))) answers += event.Response().ok() ? 0 : 100;
    return self.Keep();
  }});
  test.Do(machine, [&](ScriptedMachine& self, StateEvent&) {
    refs.push_back(self.Request(other, 1).value());
    refs.push_back(self.Request(other, 0).value());
    return self.Keep();
  });
  CHECK(Eventually([&] { return test.Key(machine, "postponed") == "2"; }));
  CHECK(test.diary.Take() == Lines{"idle response 2", "idle response not allowed"});
  test.GoTo(machine, Phase::kBusy);
  CHECK(test.Handled(machine) == Lines{"busy response 2", "busy response not allowed"});
  CHECK(answers == 102);
}

TEST_CASE("state machine: an answer that has been taken cannot be postponed") {
  Machines test;
  const gen::PID other = test.Spawn(
      {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        return gen::Reply(*request.As<int>() + 1);
      }});
  const gen::PID machine = test.Start({.handle = [](ScriptedMachine& self, StateEvent& event) {
    CHECK_FALSE(event.Response().Take<double>().has_value());
    CHECK_FALSE(event.taken());
    CHECK(event.Response().Take<int>().value() == 2);
    CHECK(event.taken());
    return self.Postpone();
  }});
  test.Do(machine, [&](ScriptedMachine& self, StateEvent&) {
    self.Request(other, 1).value();
    return self.Keep();
  });
  CHECK(test.EventuallyLines(
      {"idle response 2",
       "end panic: Postpone: the event's value has been taken out of it (handling int)"}));
}

TEST_CASE("state machine: another process answers") {
  Machines test;
  const gen::PID other = test.Spawn(
      {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        return gen::Reply(*request.As<int>() + 1);
      }});
  const gen::PID machine = test.Start({.handle = [&](ScriptedMachine& self, StateEvent& event) {
    Transition delegated = self.Delegate(other, event);
    if (self.CurrentState() == Phase::kBusy) delegated.Postpone();
    return delegated;
  }});
  CHECK(test.node.Call<int>(machine, 1).value() == 2);
  test.GoTo(machine, Phase::kBusy);
  CHECK(test.node.Call<int>(machine, 2).value() == 3);
  CHECK(test.Ended(machine));
  CHECK(test.diary.Lines().back() ==
        "end panic: Postpone: the event has been forwarded (handling int)");
}

TEST_CASE("state machine: a message for another process that has ended is told in the log") {
  Machines test;
  const gen::PID other = test.Spawn();
  REQUIRE(test.node.Kill(other));
  REQUIRE(test.Ended(other));
  const gen::PID machine = test.Start({.handle = [&](ScriptedMachine& self, StateEvent& event) {
    return self.Delegate(other, event);
  }});
  CHECK(test.node.Send(machine, 1));
  CHECK_FALSE(test.node.Call<int>(machine, 1));
  CHECK(test.IsAlive(machine));
  CHECK(test.log.Contains("in state 'idle' is lost: "));
}

TEST_CASE("state machine: one that is killed handles nothing more, and no time-out of 0 for ever") {
  Machines test;
  std::atomic<int> polls{0};
  const gen::PID machine = test.Start({.handle = [&](ScriptedMachine& self, StateEvent&) {
    // As who asks again and again, with a wait in between.
    ++polls;
    (void)self.Sleep(1h);
    return self.Keep().StateTimeout(0s).Raise(1);
  }});
  CHECK(test.node.Send(machine, 1));
  REQUIRE(test.EventuallyWaiting(machine));
  CHECK(test.node.Kill(machine));
  CHECK(test.Ended(machine));
  CHECK(polls == 1);
}

TEST_CASE("state machine: events that are raised without end leave other processes their turns") {
  std::atomic<bool> is_over{false};
  std::function<Transition(ScriptedMachine&, StateEvent&)> again;
  again = [&](ScriptedMachine& self, StateEvent&) {
    return is_over ? self.Keep() : self.Keep().Raise(Act{again});
  };
  Machines test({.workers = 2});
  for (int i = 0; i < 2; ++i) test.Do(test.Start(), again);
  const gen::PID other = test.Spawn(
      {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        return gen::Reply(*request.As<int>() + 1);
      }});
  CHECK(test.node.Call<int>(other, 1, kPatient).value() == 2);
  is_over = true;
}

TEST_CASE("state machine: handlers may call") {
  Machines test;
  const gen::PID other = test.Spawn(
      {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        return gen::Reply(*request.As<int>() + 1);
      }});
  const gen::PID machine = test.Start({.handle = [&](ScriptedMachine& self, StateEvent& event) {
    return self.GoTo(Phase::kBusy).Reply(self.Call<int>(other, *event.As<int>()).value());
  }});
  CHECK(test.node.Call<int>(machine, 1).value() == 2);
}

}  // namespace
}  // namespace ergon::node
