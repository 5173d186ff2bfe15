// What subscribers missed, links to events, and producers that know whether anybody listens.
#include <algorithm>
#include <atomic>

#include <ergon/act/pool.h>
#include <ergon/act/supervisor.h>

#include <kit/gate.h>
#include <kit/state_machine.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

std::vector<int> Ints(const std::vector<gen::MessageEvent>& events) {
  std::vector<int> values;
  for (const auto& event : events) values.push_back(*event.As<int>());
  return values;
}

Handlers CollectEvents(Notes<int>& notes) {
  return {.event = [&notes](Subject&, const gen::MessageEvent& event) {
    notes.Add(*event.As<int>());
    return gen::Continue();
  }};
}

// Notes the event's notices that reach it.
Handlers NoteNotices(Notes<std::string>& notes) {
  return {.message = [&notes](Subject&, gen::PID, gen::Message& message) {
    if (const auto* exit = message.As<gen::MessageExitEvent>()) {
      notes.Add("exit " + exit->event.name.ToString() + ": " + exit->reason.ToString());
    } else if (const auto* down = message.As<gen::MessageDownEvent>()) {
      notes.Add("down " + down->event.name.ToString() + ": " + down->reason.ToString());
    } else if (const auto* start = message.As<gen::MessageEventStart>()) {
      notes.Add("start " + start->event.name.ToString());
    } else if (const auto* stop = message.As<gen::MessageEventStop>()) {
      notes.Add("stop " + stop->event.name.ToString());
    } else {
      notes.Add(message.TypeName());
    }
    return gen::Continue();
  }};
}

TEST_CASE("event subscriptions: the buffer's last values are returned, newer ones arrive") {
  Notes<int> notes;
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [&](Subject& self) {
    CHECK(self.RegisterEvent("e", {.buffer = -1}).error().detail() ==
          "buffer: -1, must be 0..1000000");
    CHECK(self.RegisterEvent("e", {.buffer = 1'000'001}).error() == gen::ErrIncorrect);
    token = self.RegisterEvent("e", {.buffer = 3}).value();
    for (int i = 1; i <= 5; ++i) CHECK(self.SendEvent("e", token, i).value() == 0);
  }));
  const gen::PID one = t.Spawn(CollectEvents(notes));
  CHECK(t.Run(one, [&](Subject& self) {
    const auto missed = self.MonitorEvent({"e", {}}).value();
    CHECK(Ints(missed) == std::vector<int>{3, 4, 5});
    CHECK(missed[0].timestamp() <= missed[1].timestamp());
    CHECK(missed[0].event() == gen::Event{"e", t.node.Name()});
    CHECK(self.LinkEvent({"e", {}}).value().empty());  // it has them already
  }));
  CHECK(t.Run(producer, [&](Subject& self) { CHECK(self.SendEvent("e", token, 6).value() == 1); }));
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(notes.All() == std::vector<int>{6});
  CHECK(t.Run(one, [&](Subject& self) {
    CHECK(self.UnlinkEvent({"e", {}}));
    CHECK(self.DemonitorEvent({"e", {}}));
    CHECK(self.LinkEvent({"e", {}}).value().empty());  // it has had all of them
    CHECK(self.LinkEvent({"e", {}}).error() == gen::ErrTaken);
  }));
}

TEST_CASE(
    "event subscriptions: values that wait come once and in order, whoever subscribes again") {
  for (const bool link : {false, true}) {
    Notes<int> notes;
    gen::Ref token;
    TestNode t;
    const gen::PID producer = t.Spawn();
    CHECK(t.Run(producer,
                [&](Subject& self) { token = self.RegisterEvent("e", {.buffer = 4}).value(); }));
    const auto publish = [&](int first, int last) {
      CHECK(t.Run(producer, [&](Subject& self) {
        for (int i = first; i <= last; ++i) CHECK(self.SendEvent("e", token, i));
      }));
    };
    const gen::PID one = t.Spawn(CollectEvents(notes));
    kit::ThreadGate gates[3];
    t.Begin(one, [&](Subject& self) {
      const auto subscribe = [&] {
        return link ? self.LinkEvent({"e", {}}) : self.MonitorEvent({"e", {}});
      };
      const auto unsubscribe = [&] {
        return link ? self.UnlinkEvent({"e", {}}) : self.DemonitorEvent({"e", {}});
      };
      CHECK(subscribe().value().empty());
      gates[0].Enter();  // 1 to 3 come
      CHECK(unsubscribe());
      gates[1].Enter();  // 4 to 9 are published, of which 4 and 5 are lost: the buffer has four
      CHECK(subscribe().value().empty());  // 6 to 9 wait behind 1 to 3
      CHECK(unsubscribe());
      CHECK(subscribe().value().empty());
      gates[2].Enter();
    });
    const auto arrived = [&](int place) {
      CHECK(kit::Eventually([&] { return gates[place].Entered() == 1; }));
    };
    arrived(0);
    publish(1, 3);
    gates[0].Open();
    arrived(1);
    publish(4, 9);
    gates[1].Open();
    arrived(2);
    publish(10, 10);
    gates[2].Open();
    CHECK(kit::Eventually([&] { return notes.size() == 8; }));
    CHECK(notes.All() == std::vector<int>{1, 2, 3, 6, 7, 8, 9, 10});
    // Nothing waits: what was missed is returned, once.
    CHECK(t.Run(one, [&](Subject& self) {
      CHECK((link ? self.UnlinkEvent({"e", {}}) : self.DemonitorEvent({"e", {}})));
    }));
    publish(11, 12);
    CHECK(t.Run(one, [&](Subject& self) {
      CHECK(Ints(self.MonitorEvent({"e", {}}).value()) == std::vector<int>{11, 12});
      CHECK(self.LinkEvent({"e", {}}).value().empty());
    }));
  }
}

TEST_CASE("event subscriptions: who does not care that an event is no more is not warned of it") {
  for (const auto level : {gen::LogLevel::kInfo, gen::LogLevel::kDebug}) {
    TestNode t({.log_level = level});
    const gen::PID producer = t.Spawn();
    CHECK(t.Run(producer, [&](Subject& self) { CHECK(self.RegisterEvent("e", {})); }));
    const gen::PID one = t.Spawn();
    CHECK(t.Run(one, [&](Subject& self) { CHECK(self.MonitorEvent({"e", {}})); }));
    CHECK(t.Run(producer, [&](Subject& self) { CHECK(self.UnregisterEvent("e")); }));
    CHECK(t.Run(one, [&](Subject&) {}));  // behind the notice
    CHECK(t.log.Contains("unhandled message ergon::gen::MessageDownEvent") ==
          (level == gen::LogLevel::kDebug));
  }
}

TEST_CASE("event subscriptions: nor is a state machine that does not care") {
  for (const auto level : {gen::LogLevel::kInfo, gen::LogLevel::kDebug}) {
    kit::Diary diary;
    TestNode t({.log_level = level});
    const gen::PID producer = t.Spawn();
    CHECK(t.Run(producer, [&](Subject& self) { CHECK(self.RegisterEvent("e", {})); }));
    const kit::MachineScript script{
        .handle = [](kit::ScriptedMachine& self, act::StateEvent& event) {
          return self.Unhandled(event);
        }};
    const gen::PID machine = t.node.Spawn(kit::MakeMachine(script, diary)).value();
    const auto in_machine = [&](auto function) {
      return t.node
          .Call<bool>(machine, kit::Act{[=](kit::ScriptedMachine& self, act::StateEvent&) {
                        function(self);
                        return self.Keep().Reply(true);
                      }})
          .has_value();
    };
    CHECK(in_machine([](kit::ScriptedMachine& self) { CHECK(self.MonitorEvent({"e", {}})); }));
    CHECK(t.Run(producer, [&](Subject& self) { CHECK(self.UnregisterEvent("e")); }));
    CHECK(in_machine([](kit::ScriptedMachine&) {}));  // behind the notice
    CHECK(t.log.Contains("MessageDownEvent") == (level == gen::LogLevel::kDebug));
  }
}

TEST_CASE("event subscriptions: values for one that takes no more messages are counted") {
  Notes<int> notes;
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer,
              [&](Subject& self) { token = self.RegisterEvent("e", {.buffer = 10}).value(); }));
  const gen::PID one = t.Spawn(CollectEvents(notes));
  CHECK(t.Run(one, [&](Subject& self) {
    CHECK(self.MonitorEvent({"e", {}}));
    CHECK(self.DemonitorEvent({"e", {}}));
  }));
  CHECK(t.Run(producer, [&](Subject& self) {
    for (int i = 1; i <= 3; ++i) CHECK(self.SendEvent("e", token, i));
  }));
  kit::ThreadGate gate;
  t.Begin(one, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.StopProcess(one, 1ms).error() == gen::ErrTimeout);
  // It handles what waits when it comes to the stop, and takes nothing more.
  t.Begin(one, [](Subject& self) { CHECK(self.MonitorEvent({"e", {}}).value().empty()); });
  gate.Open();
  CHECK(t.Ended(one));
  CHECK(notes.size() == 0);
  CHECK(t.node.Info().dropped_terminated == 3);
}

TEST_CASE("event subscriptions: no gap and no double while others publish") {
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::atomic<int> published{0};
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer,
              [&](Subject& self) { token = self.RegisterEvent("e", {.buffer = 20}).value(); }));
  std::vector<gen::PID> publishers;
  std::atomic<int> turn{0};  // who publishes a number holds it, so that all numbers are in order
  for (int i = 0; i < 2; ++i) {
    publishers.push_back(t.Spawn());
    t.Begin(publishers.back(), [&](Subject& self) {
      while (!done) {
        int free = 0;
        if (turn.compare_exchange_strong(free, 1)) {
          CHECK(self.SendEvent("e", token, published.load() + 1));
          published.fetch_add(1);
          turn = 0;
        }
        self.Yield();
      }
    });
  }
  const int rounds = kit::Scaled(200);
  for (int round = 0; round < rounds; ++round) {
    int expected = 0;
    std::atomic<int> seen{0};
    const gen::PID pid = t.Spawn({.event = [&](Subject&, const gen::MessageEvent& event) {
      if (*event.As<int>() != expected + 1 && expected != 0) wrong.fetch_add(1);
      expected = *event.As<int>();
      seen = expected;
      return gen::Continue();
    }});
    CHECK(t.Run(pid, [&](Subject& self) {
      const std::vector<int> missed = Ints(self.MonitorEvent({"e", {}}).value());
      if (!missed.empty()) expected = missed.front() - 1;
      for (const int value : missed) {
        if (value != expected + 1) wrong.fetch_add(1);
        expected = value;
      }
      seen = expected;
    }));
    const int now = published;
    CHECK(kit::Eventually([&] { return seen > now; }));
    CHECK(t.node.Kill(pid));
    CHECK(t.Ended(pid));
  }
  done = true;
  for (const gen::PID pid : publishers) CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(wrong == 0);
}

TEST_CASE("event subscriptions: all see the values of several publishers in one order") {
  Notes<int> one;
  Notes<int> two;
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [&](Subject& self) {
    token = self.RegisterEvent("e", {.buffer = 100'000}).value();
  }));
  for (auto* notes : {&one, &two}) {
    CHECK(t.Run(t.Spawn(CollectEvents(*notes)), [](Subject& self) {
      CHECK(self.MonitorEvent({"e", {}}).value().empty());
    }));
  }
  const int each = kit::Scaled(5'000);
  std::vector<gen::PID> publishers;
  for (int i = 0; i < 3; ++i) {
    publishers.push_back(t.Spawn());
    t.Begin(publishers.back(), [&, i](Subject& self) {
      for (int k = 0; k < each; ++k) CHECK(self.SendEvent("e", token, i * each + k));
    });
  }
  const auto all = static_cast<std::size_t>(3 * each);
  CHECK(kit::Eventually([&] { return one.size() == all && two.size() == all; }));
  CHECK(one.All() == two.All());
  CHECK(t.Run(producer, [&](Subject& self) {
    CHECK(Ints(self.MonitorEvent({"e", {}}).value()) == one.All());
  }));
}

TEST_CASE("event subscriptions: a linked subscriber ends with the event, or gets its exit signal") {
  Notes<std::string> notes;
  gen::Ref token;
  TestNode t;
  const gen::PID producer = t.Spawn();
  auto begin = [&] {
    CHECK(t.Run(producer, [&](Subject& self) { token = self.RegisterEvent("e").value(); }));
  };
  begin();
  const gen::PID ends = t.Spawn();
  const gen::PID traps = t.Spawn(NoteNotices(notes));
  const gen::PID parked = t.Spawn();
  const gen::PID left = t.Spawn(NoteNotices(notes));
  for (const gen::PID pid : {ends, traps, parked, left}) {
    CHECK(t.Run(pid, [&](Subject& self) {
      CHECK(self.LinkEvent({"e", {}}));
      CHECK(self.LinkEvent({"e", "other@localhost"}).error() == gen::ErrNoConnection);
      CHECK(self.UnlinkEvent({"none", {}}).error() == gen::ErrProcessUnknown);
      CHECK(self.DemonitorEvent({"e", {}}).error() == gen::ErrProcessUnknown);
      self.SetTrapExit(pid == traps);
      if (pid == left) CHECK(self.UnlinkEvent({"e", {}}));
    }));
  }
  CHECK(t.node.ProcessInfo(ends)->subscriptions == std::vector<gen::Event>{{"e", t.node.Name()}});
  CHECK(t.node.ProcessInfo(producer)->events == std::vector<gen::Atom>{"e"});
  t.Begin(parked, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  CHECK(t.EventuallyWaiting(parked));
  CHECK(t.Run(producer, [](Subject& self) { CHECK(self.UnregisterEvent("e")); }));
  CHECK(t.Ended(ends));
  CHECK(t.Ended(parked));
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(notes.All()[0] == "exit e: event unregistered");
  CHECK(t.node.ProcessInfo(traps)->subscriptions.empty());

  // "normal" ends nobody, as with other links, but is told to those who trap exits.
  begin();
  const gen::PID stays = t.Spawn();
  for (const gen::PID pid : {traps, stays}) {
    CHECK(t.Run(pid, [](Subject& self) { CHECK(self.LinkEvent({"e", {}})); }));
  }
  CHECK(t.node.Send(producer, End{}));
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
  CHECK(notes.All()[1] == "exit e: normal");
  CHECK(t.Run(stays, [](Subject&) {}));
  CHECK(t.Run(left, [](Subject&) {}));
  CHECK(kit::Eventually([&] { return t.node.Info().processes_failed == 2; }));
}

class Worker : public act::Actor {};
class LinkedPool : public act::Pool {
 public:
  LinkedPool(bool traps, Notes<std::string>* notes) : traps_(traps), notes_(*notes) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    SetTrapExit(traps_);
    LinkEvent({"e", {}}).value();
    return act::PoolOptions{.pool_size = 1, .worker_factory = gen::Factory<Worker>()};
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    notes_.Add("pool " + message.As<gen::MessageExitEvent>()->reason.ToString());
    return gen::Continue();
  }
  const bool traps_;
  Notes<std::string>& notes_;
};
class LinkedSupervisor : public act::Supervisor {
 public:
  LinkedSupervisor(bool traps, Notes<std::string>* notes) : traps_(traps), notes_(*notes) {}

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
    SetTrapExit(traps_);
    LinkEvent({"e", {}}).value();
    return act::SupervisorSpec{
        .children = {{.name = traps_ ? "one" : "two", .factory = gen::Factory<Worker>()}}};
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    notes_.Add("supervisor " + message.As<gen::MessageExitEvent>()->reason.ToString());
    return gen::Continue();
  }
  const bool traps_;
  Notes<std::string>& notes_;
};

TEST_CASE("event subscriptions: pools and supervisors obey the exit signals of events") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [](Subject& self) { CHECK(self.RegisterEvent("e")); }));
  const std::vector<gen::PID> end = {
      t.node.Spawn(gen::Factory<LinkedPool>(false, &notes)).value(),
      t.node.Spawn(gen::Factory<LinkedSupervisor>(false, &notes)).value()};
  CHECK(t.node.Spawn(gen::Factory<LinkedPool>(true, &notes)));
  CHECK(t.node.Spawn(gen::Factory<LinkedSupervisor>(true, &notes)));
  CHECK(t.node.Info().processes == 9);
  CHECK(t.node.Send(producer, End{gen::Reason::Error("broke")}));
  for (const gen::PID pid : end) CHECK(t.Ended(pid));
  CHECK(t.EventuallyProcesses(4));
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
  auto all = notes.All();
  std::sort(all.begin(), all.end());
  CHECK(all == std::vector<std::string>{"pool broke", "supervisor broke"});
}

TEST_CASE("event subscriptions: after UnlinkEvent and DemonitorEvent a notice under way is stale") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID producer = t.Spawn();
  CHECK(t.Run(producer, [](Subject& self) {
    CHECK(self.RegisterEvent("e"));
    CHECK(self.RegisterEvent("f"));
  }));
  const gen::PID pid = t.Spawn(NoteNotices(notes));
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(self.LinkEvent({"e", {}}));
    CHECK(self.MonitorEvent({"e", {}}));
    CHECK(self.MonitorEvent({"f", {}}));
    // The producer ends both events while this handler runs.
    CHECK(self.Send(producer, Do{[](Subject& other) {
                      CHECK(other.UnregisterEvent("f"));
                      CHECK(other.UnregisterEvent("e"));
                    }}));
    CHECK(!self.Sleep(gen::kInfinite));  // interrupted: it is linked
    CHECK(self.UnlinkEvent({"e", {}}));
    CHECK(self.DemonitorEvent({"e", {}}));
    CHECK(self.DemonitorEvent({"e", {}}).error() == gen::ErrProcessUnknown);
  }));
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(t.Run(pid, [](Subject&) {}));
  CHECK(notes.All() == std::vector<std::string>{"down f: event unregistered"});
}

TEST_CASE("event subscriptions: the producer hears of the first and the last subscriber") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID producer = t.Spawn(NoteNotices(notes));
  CHECK(t.Run(producer, [](Subject& self) {
    CHECK(self.RegisterEvent("e", {.notify = true}));
    CHECK(self.RegisterEvent("quiet"));
  }));
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  auto run = [&](gen::PID pid, auto function) { CHECK(t.Run(pid, function)); };
  run(one, [](Subject& self) {
    CHECK(self.MonitorEvent({"quiet", {}}));
    CHECK(self.MonitorEvent({"e", {}}));
    CHECK(self.LinkEvent({"e", {}}));
    CHECK(self.DemonitorEvent({"e", {}}));
  });
  run(two, [](Subject& self) { CHECK(self.MonitorEvent({"e", {}})); });
  run(one, [](Subject& self) { CHECK(self.UnlinkEvent({"e", {}})); });
  run(producer, [](Subject&) {});
  CHECK(notes.All() == std::vector<std::string>{"start e"});
  CHECK(t.node.Kill(two));
  CHECK(kit::Eventually([&] { return notes.size() == 2; }));
  run(one, [](Subject& self) { CHECK(self.LinkEvent({"e", {}})); });
  CHECK(t.node.Send(one, End{}));
  CHECK(kit::Eventually([&] { return notes.size() == 4; }));
  CHECK(notes.All() == std::vector<std::string>{"start e", "stop e", "start e", "stop e"});
}

}  // namespace
}  // namespace ergon::node
