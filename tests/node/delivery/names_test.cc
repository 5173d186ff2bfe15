#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include <kit/prober.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE("names: register, send, take away") {
  TestNode t;
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  CHECK(t.node.RegisterName("a", one));
  CHECK(t.node.RegisterName("a", two).error() == gen::ErrTaken);
  CHECK(t.node.RegisterName("b", one).error() == gen::ErrNotAllowed);
  CHECK(t.node.RegisterName("", two).error() == gen::ErrIncorrect);
  CHECK(t.node.Resolve("a").value() == one);
  CHECK(t.node.Resolve(gen::ProcessID{"a", t.node.Name()}).value() == one);
  CHECK(t.node.ProcessInfo(one)->name == gen::Atom("a"));
  CHECK(t.node.Info().names == 1);
  CHECK(t.node.UnregisterName("a").value() == one);
  CHECK(t.node.UnregisterName("a").error() == gen::ErrProcessUnknown);
  CHECK(t.node.Send("a", 1).error() == gen::ErrProcessUnknown);
  CHECK(t.node.RegisterName("b", one));
  CHECK(t.Run(two, [](Subject& self) {
    CHECK(self.Name().empty());
    CHECK(self.UnregisterName().error() == gen::ErrProcessUnknown);
    CHECK(self.RegisterName("b").error() == gen::ErrTaken);
    CHECK(self.RegisterName("c"));
    CHECK(self.RegisterName("d").error() == gen::ErrNotAllowed);
    CHECK(self.Name() == gen::Atom("c"));
    CHECK(self.Send("c", End{}));
    CHECK(self.UnregisterName());
    CHECK(self.Name().empty());
  }));
  CHECK(t.Ended(two));
}

TEST_CASE("names: looking for one that nobody has makes no atom of it") {
  Notes<int> notes;
  TestNode t;
  const gen::PID pid = t.Spawn(Collect(notes));
  const std::string nobody = "names test: nobody";
  for (int i = 0; i < 2; ++i) {
    CHECK(t.node.Resolve(nobody).error().ToString() == "process is unknown: 'names test: nobody'");
    CHECK(t.node.Send(nobody, 1).error() == gen::ErrProcessUnknown);
    CHECK(t.node.SendImportant(nobody, 1).error() == gen::ErrProcessUnknown);
    CHECK(t.node.Call<int>(nobody, 1).error() == gen::ErrProcessUnknown);
    CHECK(t.node.CallAsync<int>(nobody, 1).get().error() == gen::ErrProcessUnknown);
    CHECK(t.node.Inspect(nobody).error() == gen::ErrProcessUnknown);
    CHECK(t.node.SendOrWait(nobody, 1, 0s).error() == gen::ErrProcessUnknown);
    CHECK(t.node.SendExit(nobody, gen::Reason::Normal()).error() == gen::ErrProcessUnknown);
    CHECK(t.node.WaitProcess(nobody).error() == gen::ErrProcessUnknown);
    CHECK(t.Run(pid, [&](Subject& self) {
      CHECK(self.Send(nobody, 1).error() == gen::ErrProcessUnknown);
      CHECK(self.Call<int>(nobody, 1).error() == gen::ErrProcessUnknown);
      CHECK(self.Request(nobody, 1).error() == gen::ErrProcessUnknown);
      CHECK(self.Link(nobody).error() == gen::ErrProcessUnknown);
    }));
    CHECK(gen::Atom::Find(nobody) == std::nullopt);
  }
  // A target is looked for when it is used, not when it is made.
  const gen::Target target(nobody);
  CHECK(t.node.RegisterName(nobody, pid));
  CHECK(t.node.Resolve(target).value() == pid);
  CHECK(t.node.Send(target, 7));
  CHECK(kit::Eventually([&] { return notes.size() == 1; }));
}

TEST_CASE("names: one that is too long is an error that tells how long it is") {
  TestNode t;
  const std::string name(256, 'n');
  const auto is_told = [](const gen::Error& error) {
    CHECK(error == gen::ErrIncorrect);
    CHECK(error.detail().find("name: 256 bytes, at most 255 are possible: nnn") == 0);
  };
  is_told(t.node.Resolve(name).error());
  is_told(t.node.Send(name, 1).error());
  is_told(t.node.Call<int>(name, 1).error());
  is_told(t.node.SendAfter(name, 1, 1h).error());
  is_told(t.node.SendEvery(name, 1, 1h).error());
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    is_told(self.Send(name, 1).error());
    is_told(self.Call<int>(name, 1).error());
    is_told(self.Monitor(name).error());
    is_told(self.SendExit(name, gen::Reason::Normal()).error());
  }));
}

TEST_CASE("names: who keeps a name for later gets it by that name") {
  Notes<std::string> notes;
  TestNode t;
  t.node.SendAfter("names test: comes later", 1, 0s).value().Cancel();
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    if (const auto* down = message.As<gen::MessageDownProcessID>()) {
      notes.Add(down->process_id.name.ToString() + " " + down->reason.ToString());
    }
    return gen::Continue();
  }});
  CHECK(t.Run(pid, [](Subject& self) { CHECK(self.Monitor("names test: monitored")); }));
  REQUIRE(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(notes.All().at(0) == "names test: monitored noproc");
}

TEST_CASE("names: who monitors by a name or an alias is told when that is given up") {
  Notes<std::string> notes;
  TestNode t;
  const gen::PID pid = t.Spawn();
  gen::Alias alias;
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(self.RegisterName("names test: given up"));
    alias = self.CreateAlias().value();
  }));
  const gen::PID watcher = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    if (const auto* name = message.As<gen::MessageDownProcessID>()) {
      notes.Add(name->process_id.name.ToString() + " " + name->reason.ToString());
    } else if (const auto* down = message.As<gen::MessageDownAlias>()) {
      notes.Add("alias " + down->reason.ToString());
    }
    return gen::Continue();
  }});
  CHECK(t.Run(watcher, [&](Subject& self) {
    CHECK(self.Monitor("names test: given up"));
    CHECK(self.Monitor(alias));
  }));
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(self.UnregisterName());
    CHECK(self.DeleteAlias(alias));
  }));
  REQUIRE(kit::Eventually([&] { return notes.size() == 2; }));
  CHECK(notes.All().at(0) == "names test: given up unregistered");
  CHECK(notes.All().at(1) == "alias unregistered");
}

TEST_CASE("names: free when its process has ended, and nothing old reaches the new one") {
  std::atomic<int> old{0};
  TestNode t;
  for (int i = 0; i < kit::Scaled(500); ++i) {
    const gen::PID pid =
        t.node
            .SpawnRegister("again", Make({.message =
                                              [&old, i](Subject&, gen::PID, gen::Message& message) {
                                                if (message.Take<int>() != i) old.fetch_add(1);
                                                return gen::Continue();
                                              }}))
            .value();
    CHECK(t.node.Send("again", i));
    CHECK(t.Run(pid, [](Subject&) {}));
    // Ends with a message that it has not handled.
    CHECK(t.node.Suspend("again"));
    CHECK(t.node.Send("again", i));
    CHECK(t.node.Kill(pid));
    CHECK(t.Ended(pid));
    CHECK(t.node.Info().names == 0);
  }
  CHECK(old == 0);
}

TEST_CASE("names: registered by others while the process ends, a name is never left behind") {
  std::atomic<std::uint64_t> current{0};
  std::atomic<bool> done{false};
  TestNode t;
  const int rounds = kit::Scaled(5'000);
  std::thread registrar([&] {
    while (!done) {
      const gen::PID pid{current.load(), t.node.Name(), t.node.Self().creation};
      if (pid.id != 0) (void)t.node.RegisterName("shared", pid);
    }
  });
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn();
    current = pid.id;
    (void)t.node.SendExit(pid, gen::Reason::Shutdown());
    CHECK(t.Ended(pid));
  }
  done = true;
  registrar.join();
  CHECK(t.EventuallyProcesses(0));
  CHECK(t.node.Info().names == 0);
  CHECK(t.node.SpawnRegister("shared", Make({})));
}

TEST_CASE("names: one of many wins") {
  TestNode t;
  for (int round = 0; round < kit::Scaled(300); ++round) {
    std::atomic<int> won{0};
    std::vector<std::thread> threads;
    std::vector<gen::PID> pids;
    for (int i = 0; i < 3; ++i) pids.push_back(t.Spawn());
    for (const gen::PID pid : pids) {
      threads.emplace_back([&, pid] {
        if (t.node.RegisterName("one", pid)) won.fetch_add(1);
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(won == 1);
    for (const gen::PID pid : pids) CHECK(t.node.Kill(pid));
    for (const gen::PID pid : pids) CHECK(t.Ended(pid));
  }
}

TEST_CASE("names: a process gives up its own name only, while others move that name") {
  std::atomic<bool> done{false};
  TestNode t;
  const gen::PID holder = t.Spawn();
  const gen::PID other = t.Spawn();
  t.Begin(holder, [&](Subject& self) {
    while (!done) {
      if (self.RegisterName("moved")) (void)self.UnregisterName();
    }
  });
  const int rounds = kit::Scaled(20'000);
  int moved = 0;
  int lost = 0;
  for (int i = 0; i < rounds; ++i) {
    (void)t.node.UnregisterName("moved");
    if (!t.node.RegisterName("moved", other)) continue;  // the holder has been quicker
    ++moved;
    // From now on it is the name of `other`, until this thread takes it away.
    const auto taken = t.node.UnregisterName("moved");
    if (!taken || *taken != other) ++lost;
  }
  done = true;
  CHECK(moved > 0);
  CHECK(lost == 0);
  CHECK(t.Run(holder, [](Subject& self) {
    CHECK(self.UnregisterName().error() == gen::ErrProcessUnknown);
    CHECK(self.RegisterName("moved"));
    CHECK(self.UnregisterName());
  }));
}

TEST_CASE("names: aliases") {
  Notes<int> notes;
  gen::Alias alias;
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    notes.Add(message.Take<int>());
    return gen::Continue();
  }});
  const gen::PID other = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) { alias = self.CreateAlias().value(); }));
  CHECK(t.node.Resolve(alias).value() == pid);
  CHECK(t.node.Send(alias, 1));
  CHECK(t.node.ProcessInfo(pid)->aliases == std::vector<gen::Alias>{alias});
  CHECK(t.Run(other, [&](Subject& self) {
    CHECK(self.DeleteAlias(alias).error() == gen::ErrProcessUnknown);
    CHECK(self.Send(alias, 2));
  }));
  CHECK(t.Run(pid, [&](Subject& self) {
    // Aliases of other nodes and of former incarnations have the same ids.
    CHECK(self.DeleteAlias({alias.id, "other@localhost", alias.creation}).error() ==
          gen::ErrProcessUnknown);
    CHECK(self.DeleteAlias({alias.id, alias.node, alias.creation ^ 1}).error() ==
          gen::ErrProcessUnknown);
    CHECK(self.DeleteAlias(alias));
    CHECK(self.DeleteAlias(alias).error() == gen::ErrProcessUnknown);
  }));
  CHECK(t.node.Send(alias, 3).error() == gen::ErrProcessUnknown);
  CHECK(notes.All() == std::vector<int>{1, 2});
  CHECK(t.node.Info().aliases == 0);
  gen::Alias wrong = alias;
  wrong.creation ^= 1;
  CHECK(t.node.Send(wrong, 3).error() == gen::ErrProcessUnknown);
}

TEST_CASE("names: delete each position of a list of 1 to 5 aliases, then end") {
  TestNode t;
  for (std::size_t count = 1; count <= 5; ++count) {
    for (std::size_t position = 0; position < count; ++position) {
      CAPTURE(count);
      CAPTURE(position);
      const gen::PID pid = t.Spawn();
      kit::ProberHandle watcher(t.node);
      std::vector<gen::Alias> aliases;
      CHECK(t.Run(pid, [&](Subject& self) {
        for (std::size_t i = 0; i < count; ++i) aliases.push_back(self.CreateAlias().value());
      }));
      CHECK(watcher.Run([&](kit::Prober& self) {
        for (const gen::Alias& alias : aliases) self.Monitor(alias).value();
      }));
      CHECK(t.Run(pid, [&](Subject& self) { CHECK(self.DeleteAlias(aliases[position])); }));
      // The deleted one fires, and only that.
      CHECK(kit::Eventually([&] { return watcher.inbox().AliasDowns().size() == 1; }));
      CHECK(watcher.inbox().AliasDowns()[0].alias == aliases[position]);
      CHECK(watcher.inbox().AliasDowns()[0].reason == gen::Reason::Unregistered());
      for (std::size_t i = 0; i < count; ++i) {
        CHECK(t.node.Resolve(aliases[i]).has_value() == (i != position));
      }
      CHECK(t.node.Send(pid, End{gen::Reason::Error("over")}));
      CHECK(kit::Eventually([&] { return watcher.inbox().AliasDowns().size() == count; }));
      CHECK(watcher.Run([](kit::Prober&) {}));
      const auto downs = watcher.inbox().AliasDowns();
      REQUIRE(downs.size() == count);
      for (const gen::Alias& alias : aliases) {
        int times = 0;
        for (const auto& down : downs) times += down.alias == alias ? 1 : 0;
        CHECK(times == 1);
      }
      for (std::size_t i = 1; i < count; ++i) CHECK(downs[i].reason == gen::Reason::Error("over"));
      for (const gen::Alias& alias : aliases) CHECK(!t.node.Resolve(alias));
    }
  }
}

TEST_CASE("names: notices for a former process under the same name do not reach the new one") {
  TestNode t;
  kit::ProberHandle watcher(t.node);
  const gen::PID old = t.node.SpawnRegister("service", Make({})).value();
  CHECK(watcher.Run([](kit::Prober& self) { self.Monitor("service").value(); }));
  CHECK(t.node.Kill(old));
  CHECK(t.Ended(old));
  const gen::PID fresh = t.node.SpawnRegister("service", Make({})).value();
  CHECK(kit::Eventually([&] { return watcher.inbox().NameDowns().size() == 1; }));
  CHECK(watcher.Run([](kit::Prober& self) { self.Monitor("service").value(); }));
  CHECK(t.Run(fresh, [](Subject&) {}));
  CHECK(watcher.Run([](kit::Prober&) {}));
  CHECK(watcher.inbox().NameDowns().size() == 1);
  CHECK(t.node.UnregisterName("service").value() == fresh);
  CHECK(kit::Eventually([&] { return watcher.inbox().NameDowns().size() == 2; }));
  CHECK(watcher.inbox().NameDowns()[0].reason == gen::Reason::Kill());
  CHECK(watcher.inbox().NameDowns()[1].reason == gen::Reason::Unregistered());
  CHECK(watcher.inbox().NameDowns()[1].process_id.name == gen::Atom("service"));
  CHECK(t.node.Kill(fresh));
  CHECK(t.Ended(fresh));
  CHECK(watcher.Run([](kit::Prober&) {}));
  CHECK(watcher.inbox().NameDowns().size() == 2);
}

TEST_CASE("names: a monitor by alias or name that is taken away at that moment fires at once") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  kit::ProberHandle watcher(t.node);
  const int rounds = kit::Scaled(2'000);
  for (int i = 0; i < rounds; ++i) {
    gen::Alias alias;
    CHECK(t.Run(pid, [&](Subject& self) {
      alias = self.CreateAlias().value();
      if (self.Name().empty()) CHECK(self.RegisterName("moment"));
    }));
    watcher.Start([alias](kit::Prober& self) {
      self.Monitor(alias).value();
      self.Monitor("moment").value();
    });
    t.Begin(pid, [alias](Subject& self) {
      CHECK(self.DeleteAlias(alias));
      CHECK(self.UnregisterName());
    });
    const std::size_t expected = static_cast<std::size_t>(i) + 1;
    REQUIRE(kit::Eventually([&] { return watcher.inbox().AliasDowns().size() == expected; }));
    REQUIRE(kit::Eventually([&] { return watcher.inbox().NameDowns().size() == expected; }));
  }
  CHECK(watcher.Run([](kit::Prober&) {}));
  CHECK(t.node.ProcessInfo(pid)->monitored_by.empty());
}

}  // namespace
}  // namespace ergon::node
