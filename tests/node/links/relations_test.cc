#include <atomic>
#include <thread>

#include <kit/gate.h>
#include <kit/prober.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// Traps exits and writes them down.
Handlers Trap(Notes<gen::MessageExitPID>& exits) {
  return {.init =
              [](Subject& self, const gen::Args&) {
                self.SetTrapExit(true);
                return gen::Continue();
              },
          .message =
              [&exits](Subject&, gen::PID, gen::Message& message) {
                exits.Add(message.Take<gen::MessageExitPID>());
                return gen::Continue();
              }};
}
Handlers Remember(Notes<gen::Reason>& reasons) {
  return {.terminate = [&reasons](Subject&, const gen::Reason& reason) { reasons.Add(reason); }};
}
// Handles everything that has arrived before.
void Settle(TestNode& t, gen::PID pid) {
  CHECK(t.Run(pid, [](Subject&) {}));
}

TEST_CASE("links: symmetric, with the reason, once") {
  TestNode t;
  const gen::Reason reason = gen::Reason::Error("because");
  for (const bool first_ends : {true, false}) {
    CAPTURE(first_ends);
    Notes<gen::Reason> reasons;
    const gen::PID one = t.Spawn(Remember(reasons));
    const gen::PID two = t.Spawn(Remember(reasons));
    CHECK(t.Run(one, [two](Subject& self) {
      CHECK(self.Link(two));
      CHECK(self.Link(two));
    }));
    CHECK(t.Run(two, [one](Subject& self) { CHECK(self.Link(one)); }));
    CHECK(t.node.ProcessInfo(one)->links == std::vector<gen::PID>{two});
    CHECK(t.node.ProcessInfo(two)->links == std::vector<gen::PID>{one});
    CHECK(t.node.Send(first_ends ? one : two, End{reason}));
    CHECK(t.Ended(one));
    CHECK(t.Ended(two));
    CHECK(reasons.All() == std::vector<gen::Reason>{reason, reason});
  }
}

TEST_CASE("links: a normal end does not end the other one, but the link is gone") {
  TestNode t;
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  CHECK(t.Run(one, [two](Subject& self) { CHECK(self.Link(two)); }));
  CHECK(t.node.Send(two, End{}));
  CHECK(t.Ended(two));
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(one)->links.empty(); }));
  Settle(t, one);
}

TEST_CASE("links: trapped, a signal is a message, whatever its reason") {
  Notes<gen::MessageExitPID> exits;
  std::vector<gen::PID> others;
  TestNode t;
  const gen::PID traps = t.Spawn(Trap(exits));
  const std::vector<gen::Reason> reasons = {gen::Reason::Normal(), gen::Reason::Shutdown(),
                                            gen::Reason::Error("e"), gen::Reason::Panic("p")};
  for (const gen::Reason& reason : reasons) {
    others.push_back(t.Spawn());
    CHECK(t.Run(traps, [to = others.back()](Subject& self) { CHECK(self.Link(to)); }));
    CHECK(t.node.Send(others.back(), End{reason}));
    CHECK(kit::Eventually([&] { return exits.size() == others.size(); }));
  }
  const gen::PID killed = t.Spawn();
  CHECK(t.Run(traps, [&](Subject& self) { CHECK(self.Link(killed)); }));
  CHECK(t.node.Kill(killed));
  CHECK(kit::Eventually([&] { return exits.size() == others.size() + 1; }));
  const auto all = exits.All();
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    CHECK(all[i].pid == others[i]);
    CHECK(all[i].reason == reasons[i]);
  }
  CHECK(all.back().reason.ToString() == "killed");
  Settle(t, traps);
}

TEST_CASE("links: killed spreads as an end that can be trapped, kill itself cannot") {
  Notes<gen::Reason> reasons;
  Notes<gen::MessageExitPID> exits;
  TestNode t;
  const gen::PID a = t.Spawn(Remember(reasons));
  const gen::PID b = t.Spawn(Remember(reasons));
  const gen::PID traps = t.Spawn(Trap(exits));
  CHECK(t.Run(b, [&](Subject& self) {
    CHECK(self.Link(a));
    CHECK(self.Link(traps));
  }));
  CHECK(t.node.Kill(a));
  CHECK(t.Ended(b));
  CHECK(kit::Eventually([&] { return exits.size() == 1; }));
  CHECK(reasons.All() == std::vector<gen::Reason>{gen::Reason::Kill(), gen::Reason::Kill()});
  CHECK(exits.All()[0].pid == b);
  CHECK(t.node.Kill(traps));
  CHECK(t.Ended(traps));
}

TEST_CASE("links: the exit of the parent cannot be trapped") {
  Notes<gen::MessageExitPID> exits;
  gen::PID child;
  gen::PID grandchild;
  TestNode t;
  const gen::PID parent = t.Spawn();
  CHECK(t.Run(parent, [&](Subject& self) {
    child = self.Spawn(Make(Trap(exits)), {.link_parent = true}).value();
  }));
  CHECK(t.Run(child, [&](Subject& self) {
    grandchild = self.Spawn(Make(Trap(exits)), {.link_child = true}).value();
  }));
  // Its child's end, in contrast, is a message.
  const gen::PID other = grandchild;
  CHECK(t.node.Kill(other));
  CHECK(kit::Eventually([&] { return exits.size() == 1; }));
  CHECK(t.IsAlive(child));
  CHECK(t.node.Send(parent, End{gen::Reason::Shutdown()}));
  CHECK(t.Ended(child));
  CHECK(exits.size() == 1);
  // The same for a signal that the parent sends explicitly.
  const gen::PID second = t.Spawn();
  CHECK(t.Run(second, [&](Subject& self) {
    child = self.Spawn(Make(Trap(exits))).value();
    CHECK(self.SendExit(child, gen::Reason::Error("out")));
  }));
  CHECK(t.Ended(child));
  CHECK(exits.size() == 1);
  Settle(t, second);
}

TEST_CASE("links: explicit exit signals") {
  Notes<gen::Reason> reasons;
  Notes<gen::MessageExitPID> exits;
  TestNode t;
  const gen::PID sender = t.Spawn();
  auto send = [&](gen::PID to, const gen::Reason& reason) {
    CHECK(t.Run(sender, [&](Subject& self) { CHECK(self.SendExit(to, reason)); }));
  };
  // Also normal, which a link would not end it with.
  const std::vector<gen::Reason> all = {gen::Reason::Normal(), gen::Reason::Shutdown(),
                                        gen::Reason::Error("x"), gen::Reason::Kill()};
  for (const gen::Reason& reason : all) {
    const gen::PID pid = t.Spawn(Remember(reasons));
    send(pid, reason);
    CHECK(t.Ended(pid));
  }
  CHECK(reasons.All() == all);
  const gen::PID traps = t.Spawn(Trap(exits));
  for (std::size_t i = 0; i < 3; ++i) send(traps, all[i]);
  REQUIRE(kit::Eventually([&] { return exits.size() == 3; }));
  send(traps, gen::Reason::Kill());
  CHECK(t.Ended(traps));
  CHECK(exits.All()[0].pid == sender);
  CHECK(exits.All()[0].reason.IsNormal());
  CHECK(exits.All()[2].reason == gen::Reason::Error("x"));
}

TEST_CASE("links: SendExit to itself ends it after the handler") {
  Notes<gen::Reason> reasons;
  std::atomic<bool> went_on{false};
  TestNode t;
  const gen::PID pid = t.Spawn(Remember(reasons));
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(self.SendExit(self.Self(), gen::Reason::Error("me")));
    went_on = true;
  }));
  CHECK(t.Ended(pid));
  CHECK(went_on);
  CHECK(reasons.All() == std::vector<gen::Reason>{gen::Reason::Error("me")});
}

TEST_CASE("links: to a process that is gone, and to nobody") {
  Notes<gen::MessageExitPID> exits;
  Notes<gen::Reason> reasons;
  TestNode t;
  const gen::PID gone = t.Spawn();
  CHECK(t.node.Kill(gone));
  CHECK(t.Ended(gone));
  const gen::PID traps = t.Spawn(Trap(exits));
  CHECK(t.Run(traps, [&](Subject& self) {
    CHECK(self.Link(gone));
    CHECK(self.Link(self.Self()));
    CHECK(self.Link("nobody").error() == gen::ErrProcessUnknown);
  }));
  CHECK(kit::Eventually([&] { return exits.size() == 1; }));
  CHECK(exits.All()[0].pid == gone);
  CHECK(exits.All()[0].reason == gen::Reason::NoProcess());
  CHECK(t.node.ProcessInfo(traps)->links.empty());
  const gen::PID ends = t.Spawn(Remember(reasons));
  CHECK(t.Run(ends, [&](Subject& self) { CHECK(self.Link(gone)); }));
  CHECK(t.Ended(ends));
  CHECK(reasons.All() == std::vector<gen::Reason>{gen::Reason::NoProcess()});
}

TEST_CASE("links: after Unlink no signal counts, not even one on its way") {
  Notes<gen::MessageExitPID> exits;
  TestNode t;
  const gen::PID plain = t.Spawn();
  const gen::PID traps = t.Spawn(Trap(exits));
  const int rounds = kit::Scaled(300);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID other = t.Spawn();
    CHECK(t.Run(traps, [&](Subject& self) { CHECK(self.Link(other)); }));
    CHECK(t.Run(plain, [&](Subject& self) {
      CHECK(self.Link(other));
      CHECK(self.SendExit(other, gen::Reason::Kill()));
      for (int k = 0; k < i % 50; ++k) std::this_thread::yield();
      CHECK(self.Unlink(other));
      CHECK(self.Unlink(other));
    }));
    CHECK(t.Ended(other));
    Settle(t, plain);
  }
  CHECK(kit::Eventually([&] { return exits.size() == static_cast<std::size_t>(rounds); }));
  CHECK(t.node.ProcessInfo(plain)->links.empty());
  CHECK(t.node.ProcessInfo(traps)->links.empty());
}

// Whose links are told when its destructor is done.
class SlowToGo final : public act::Actor {
 public:
  explicit SlowToGo(kit::ThreadGate* gate) : gate_(gate) {}
  ~SlowToGo() override { gate_->Enter(); }

 private:
  kit::ThreadGate* gate_;
};

TEST_CASE("links: a signal of one that was unlinked does not end a child that is being started") {
  for (int round = 0; round < 10; ++round) {
    kit::ThreadGate gate;
    TestNode t;
    const gen::PID other = t.node.Spawn(gen::Factory<SlowToGo>(&gate)).value();
    const gen::PID parent = t.Spawn();
    gen::PID child;
    CHECK(t.Run(parent, [&](Subject& self) {
      CHECK(self.Link(other));
      CHECK(self.SendExit(other, gen::Reason::Error("over")));
      REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
      CHECK(self.Unlink(other));
      auto started = self.Spawn(Make({.init = [&](Subject& starting, const gen::Args&) {
        gate.Open();
        // Its links are told before it leaves.
        while (t.node.Info().processes > 2 && starting.Sleep(1ms)) {
        }
        return gen::Continue();
      }}));
      REQUIRE(started);
      child = *started;
    }));
    CHECK(t.Run(child, [](Subject&) {}));
  }
}

TEST_CASE("links: trap switched off again") {
  Notes<gen::MessageExitPID> exits;
  TestNode t;
  const gen::PID pid = t.Spawn(Trap(exits));
  CHECK(t.Run(pid, [](Subject& self) {
    CHECK(self.TrapExit());
    self.SetTrapExit(false);
    CHECK(!self.TrapExit());
  }));
  const gen::PID sender = t.Spawn();
  CHECK(t.Run(sender, [&](Subject& self) { CHECK(self.SendExit(pid, gen::Reason::Normal())); }));
  CHECK(t.Ended(pid));
  CHECK(exits.size() == 0);
}

TEST_CASE("links: a whole net goes down together") {
  std::vector<gen::PID> pids;
  TestNode t;
  const int count = kit::Scaled(1'000, 10);
  for (int i = 0; i < count; ++i) pids.push_back(t.Spawn());
  for (std::size_t i = 0; i < pids.size(); ++i) {
    t.Begin(pids[i], [&, i](Subject& self) {
      for (std::size_t k = 1; k <= 4; ++k) {
        CHECK(self.Link(pids[(i + k * k) % pids.size()]));
      }
    });
  }
  for (const gen::PID pid : pids) Settle(t, pid);
  CHECK(t.node.Kill(pids[pids.size() / 2]));
  CHECK(t.EventuallyProcesses(0));
  CHECK(t.node.Info().processes_failed == pids.size());
}

TEST_CASE("monitors: before, during and after the end, exactly one notice each") {
  TestNode t;
  kit::ProberHandle watcher(t.node);
  // Before.
  const gen::PID before = t.Spawn();
  watcher.Watch(before);
  CHECK(t.node.ProcessInfo(watcher.pid())->monitors == std::vector<gen::PID>{before});
  CHECK(t.node.ProcessInfo(before)->monitored_by == std::vector<gen::PID>{watcher.pid()});
  CHECK(t.node.Send(before, End{gen::Reason::Error("done")}));
  CHECK(watcher.EventuallyDown(before));
  CHECK(watcher.inbox().ReasonOf(before) == gen::Reason::Error("done"));
  // After.
  watcher.Watch(before);
  CHECK(kit::Eventually([&] { return watcher.inbox().DownsOf(before) == 2; }));
  CHECK(watcher.inbox().Downs()[1].reason == gen::Reason::NoProcess());
  // During: in its Terminate.
  kit::Gate gate(t.node);
  const gen::PID during = t.Spawn({.terminate = [&](Subject& self, const gen::Reason&) {
    (void)self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
  }});
  CHECK(t.node.Send(during, End{gen::Reason::Error("slow")}));
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  watcher.Watch(during);
  gate.Open();
  CHECK(watcher.EventuallyDown(during));
  CHECK(watcher.inbox().ReasonOf(during) == gen::Reason::Error("slow"));
  // Nobody, not even a PID.
  CHECK(watcher.Run([](kit::Prober& self) {
    self.Monitor(gen::PID()).value();
    self.Monitor("nobody").value();
    self.Monitor(gen::Alias{99, self.Node().Name(), 1}).value();
  }));
  CHECK(kit::Eventually([&] { return watcher.inbox().NameDowns().size() == 1; }));
  CHECK(kit::Eventually([&] { return watcher.inbox().AliasDowns().size() == 1; }));
  CHECK(watcher.inbox().NameDowns()[0].process_id.name == gen::Atom("nobody"));
  CHECK(watcher.Run([](kit::Prober&) {}));
  CHECK(watcher.inbox().Downs().size() == 4);
  CHECK(t.node.ProcessInfo(watcher.pid())->monitors.empty());
}

TEST_CASE("monitors: n monitors, n notices, each with its ref") {
  std::vector<gen::Ref> refs;
  std::vector<gen::Ref> expected;
  std::vector<gen::Ref> got;
  TestNode t;
  kit::ProberHandle watcher(t.node);
  const gen::PID pid = t.Spawn();
  CHECK(watcher.Run([&](kit::Prober& self) {
    for (int i = 0; i < 50; ++i) refs.push_back(self.Monitor(pid).value());
  }));
  // Some are taken back.
  CHECK(watcher.Run([&](kit::Prober& self) {
    for (std::size_t i = 0; i < 50; i += 5) CHECK(self.Demonitor(refs[i]));
    CHECK(self.Demonitor(refs[0]).error() == gen::ErrProcessUnknown);
  }));
  CHECK(t.node.Kill(pid));
  CHECK(kit::Eventually([&] { return watcher.inbox().DownsOf(pid) == 40; }));
  CHECK(watcher.Run([](kit::Prober&) {}));
  const auto downs = watcher.inbox().Downs();
  REQUIRE(downs.size() == 40);
  for (std::size_t i = 0; i < 50; ++i) {
    if (i % 5 != 0) expected.push_back(refs[i]);
  }
  for (const auto& down : downs) got.push_back(down.ref);
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  CHECK(got == expected);
}

TEST_CASE("monitors: no notice is handled after Demonitor, even if it had arrived") {
  std::atomic<int> too_late{0};
  TestNode t;
  kit::ProberHandle watcher(t.node);
  const int rounds = kit::Scaled(500);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn();
    CHECK(watcher.Run([&](kit::Prober& self) {
      const gen::Ref ref = self.Monitor(pid).value();
      CHECK(self.SendExit(pid, gen::Reason::Kill()));
      for (int k = 0; k < i % 60; ++k) std::this_thread::yield();
      if (!self.Demonitor(ref)) too_late.fetch_add(1);  // cannot be: nothing was handled yet
    }));
    CHECK(t.Ended(pid));
  }
  CHECK(watcher.Run([](kit::Prober&) {}));
  CHECK(too_late == 0);
  CHECK(watcher.inbox().Downs().empty());
}

TEST_CASE("monitors: by name and by alias") {
  gen::Alias alias;
  gen::Ref by_name;
  gen::Ref by_alias;
  TestNode t;
  kit::ProberHandle watcher(t.node);
  const gen::PID pid = t.node.SpawnRegister("named", Make({})).value();
  CHECK(t.Run(pid, [&](Subject& self) { alias = self.CreateAlias().value(); }));
  CHECK(watcher.Run([&](kit::Prober& self) {
    by_name = self.Monitor("named").value();
    by_alias = self.Monitor(alias).value();
    self.Monitor(pid).value();
  }));
  CHECK(t.node.Send(pid, End{gen::Reason::Error("end")}));
  CHECK(watcher.EventuallyDown(pid));
  CHECK(kit::Eventually([&] { return watcher.inbox().NameDowns().size() == 1; }));
  CHECK(kit::Eventually([&] { return watcher.inbox().AliasDowns().size() == 1; }));
  CHECK(watcher.inbox().NameDowns()[0].ref == by_name);
  CHECK(watcher.inbox().NameDowns()[0].reason == gen::Reason::Error("end"));
  CHECK(watcher.inbox().AliasDowns()[0].ref == by_alias);
  CHECK(watcher.inbox().AliasDowns()[0].alias == alias);
  CHECK(watcher.inbox().AliasDowns()[0].reason == gen::Reason::Error("end"));
}

TEST_CASE("monitors: of itself, and of one who monitors back") {
  TestNode t;
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  CHECK(t.Run(one, [&](Subject& self) {
    self.Monitor(self.Self()).value();
    self.Monitor(two).value();
    self.Link(self.Self()).value();
  }));
  CHECK(t.Run(two, [&](Subject& self) {
    self.Monitor(one).value();
    self.Monitor(two).value();
  }));
  CHECK(t.node.Kill(one));
  CHECK(t.Ended(one));
  CHECK(kit::Eventually(
      [&] { return t.node.ProcessInfo(two)->monitored_by == std::vector<gen::PID>{two}; }));
  CHECK(t.node.Kill(two));
  CHECK(t.Ended(two));
  CHECK(t.EventuallyProcesses(0));
}

TEST_CASE("monitors: races of many watchers with the end") {
  std::vector<std::unique_ptr<kit::ProberHandle>> watchers;
  TestNode t;
  constexpr int kWatchers = 6;
  for (int i = 0; i < kWatchers; ++i) {
    watchers.push_back(std::make_unique<kit::ProberHandle>(t.node));
  }
  const int rounds = kit::Scaled(1'000);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn();
    for (auto& watcher : watchers) {
      watcher->Start([pid](kit::Prober& self) { self.Monitor(pid).value(); });
    }
    CHECK(t.node.SendExit(pid, gen::Reason::Error("race")));
  }
  for (auto& watcher : watchers) {
    CHECK(kit::Eventually(
        [&] { return watcher->inbox().Downs().size() == static_cast<std::size_t>(rounds); }));
    CHECK(watcher->Run([](kit::Prober&) {}));
    CHECK(watcher->inbox().Downs().size() == static_cast<std::size_t>(rounds));
    for (const auto& down : watcher->inbox().Downs()) {
      CHECK((down.reason == gen::Reason::Error("race") || down.reason == gen::Reason::NoProcess()));
    }
    CHECK(t.node.ProcessInfo(watcher->pid())->monitors.empty());
  }
}

TEST_CASE("links: races of linking and unlinking with both ends") {
  Notes<gen::MessageExitPID> exits;
  std::atomic<std::size_t> expected{0};
  TestNode t;
  const gen::PID traps = t.Spawn(Trap(exits));
  const int rounds = kit::Scaled(1'000);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID other = t.Spawn();
    t.Begin(traps, [&, other, i](Subject& self) {
      CHECK(self.Link(other));
      if (i % 3 == 0) {
        CHECK(self.Unlink(other));
      } else {
        expected.fetch_add(1);
      }
    });
    t.Begin(other, [traps, i](Subject& self) {
      if (i % 2 == 0) CHECK(self.Unlink(traps));  // usually too early
    });
    CHECK(t.node.SendExit(other, gen::Reason::Error("race")));
  }
  Settle(t, traps);
  // A link that its other side took away in time fires for nobody; at most one for each of the
  // rest.
  CHECK(kit::Eventually([&] { return t.node.Info().processes == 1; }));
  Settle(t, traps);
  CHECK(exits.size() <= expected);
  CHECK(exits.size() >= expected / 4);
  CHECK(t.node.ProcessInfo(traps)->links.empty());
}

TEST_CASE("an exception in Terminate is logged, everybody is told nevertheless") {
  TestNode t;
  kit::ProberHandle watcher(t.node);
  const gen::PID pid = t.Spawn(
      {.terminate = [](Subject&, const gen::Reason&) { throw std::runtime_error("in the end"); }});
  watcher.Watch(pid);
  CHECK(t.node.Send(pid, End{gen::Reason::Error("first")}));
  CHECK(watcher.EventuallyDown(pid));
  CHECK(watcher.inbox().ReasonOf(pid) == gen::Reason::Error("first"));
  CHECK(t.log.Contains("Terminate threw: panic: in the end"));
}

TEST_CASE("Terminate runs exactly once, however many end the process") {
  std::atomic<int> terminated{0};
  TestNode t;
  const int rounds = kit::Scaled(1'000);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid =
        t.Spawn({.terminate = [&](Subject&, const gen::Reason&) { terminated.fetch_add(1); }});
    std::thread other([&] {
      (void)t.node.Kill(pid);
      (void)t.node.SendExit(pid, gen::Reason::Shutdown());
    });
    (void)t.node.SendExit(pid, gen::Reason::Error("x"));
    (void)t.node.Send(pid, End{});
    (void)t.node.Kill(pid);
    CHECK(t.Ended(pid));
    other.join();
  }
  CHECK(terminated == rounds);
}

}  // namespace
}  // namespace ergon::node
