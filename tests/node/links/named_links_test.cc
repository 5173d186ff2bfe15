// Links by a name or an alias: they end with it.
#include <atomic>
#include <string>
#include <vector>

#include <ergon/gen/notices.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

// Traps exits and writes them down as text.
Handlers WriteExits(Notes<std::string>& exits) {
  return {
      .init =
          [](Subject& self, const gen::Args&) {
            self.SetTrapExit(true);
            return gen::Continue();
          },
      .message =
          [&exits](Subject&, gen::PID, gen::Message& message) {
            if (auto* by_name = message.As<gen::MessageExitProcessID>()) {
              exits.Add(by_name->process_id.name.ToString() + ": " + by_name->reason.ToString());
            } else if (auto* by_alias = message.As<gen::MessageExitAlias>()) {
              exits.Add("alias: " + by_alias->reason.ToString());
            } else if (auto* by_pid = message.As<gen::MessageExitPID>()) {
              exits.Add("pid: " + by_pid->reason.ToString());
            }
            return gen::Continue();
          }};
}

using Texts = std::vector<std::string>;

TEST_CASE("named links: the end of the process, of the name, of the alias") {
  Notes<std::string> exits;
  TestNode t;
  const gen::PID one = t.Spawn(WriteExits(exits));
  const auto link = [&](const gen::Target& to) {
    CHECK(t.Run(one, [to](Subject& self) { CHECK(self.Link(to)); }));
  };
  const auto eventually = [&](std::size_t count) {
    return kit::Eventually([&] { return exits.size() >= count; });
  };
  const gen::PID first = t.Spawn();
  CHECK(t.node.RegisterName("first", first));
  link("first");
  link("first");  // is one link
  CHECK(t.node.ProcessInfo(one)->links == std::vector<gen::PID>{first});
  CHECK(t.node.ProcessInfo(first)->links == std::vector<gen::PID>{one});
  CHECK(t.node.ProcessInfo(first)->monitored_by.empty());
  CHECK(t.node.Send(first, End{gen::Reason::Error("over")}));
  REQUIRE(eventually(1));

  gen::Alias alias;
  const gen::PID second = t.Spawn();
  CHECK(t.node.RegisterName("second", second));
  CHECK(t.Run(second, [&](Subject& self) { alias = self.CreateAlias().value(); }));
  link("second");
  link(alias);
  link(second);
  CHECK(t.node.UnregisterName("second"));
  REQUIRE(eventually(2));
  CHECK(t.Run(second, [&](Subject& self) { CHECK(self.DeleteAlias(alias)); }));
  REQUIRE(eventually(3));
  CHECK(t.IsAlive(second));
  CHECK(t.Run(second, [](Subject& self) { CHECK(self.RegisterName("again")); }));
  link("again");
  CHECK(t.node.Send(second, End{}));
  REQUIRE(eventually(5));  // of the name, and of the PID
  CHECK(t.Ended(second));
  CHECK(t.Run(one, [](Subject&) {}));
  Texts all = exits.All();
  CHECK(Texts(all.begin(), all.begin() + 3) ==
        Texts{"first: over", "second: unregistered", "alias: unregistered"});
  CHECK(Texts(all.begin() + 3, all.end()) == Texts{"again: normal", "pid: normal"});
  CHECK(t.node.ProcessInfo(one)->links.empty());
}

TEST_CASE("named links: without traps they end the process, unless the reason is normal") {
  TestNode t;
  const auto linked_with = [&](const char* name) {
    const gen::PID pid = t.Spawn();
    CHECK(t.Run(pid, [name](Subject& self) { CHECK(self.Link(name)); }));
    return pid;
  };
  CHECK(t.node.RegisterName("server", t.Spawn()));
  const gen::PID stays = linked_with("server");
  CHECK(t.node.Send(t.node.Resolve("server").value(), End{}));
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(stays)->links.empty(); }));
  CHECK(t.Run(stays, [](Subject&) {}));

  const gen::PID server = t.Spawn();
  CHECK(t.node.RegisterName("server", server));
  const gen::PID goes = linked_with("server");
  CHECK(t.node.UnregisterName("server"));
  CHECK(t.Ended(goes));
  CHECK(t.IsAlive(server));
}

TEST_CASE("named links: symmetric, and ended by either side") {
  Notes<std::string> exits;
  TestNode t;
  const gen::PID server = t.Spawn(WriteExits(exits));
  CHECK(t.node.RegisterName("server", server));
  const auto linked = [&] {
    const gen::PID pid = t.Spawn();
    CHECK(t.Run(pid, [](Subject& self) { CHECK(self.Link("server")); }));
    return pid;
  };
  const auto links = [&](gen::PID pid) { return t.node.ProcessInfo(pid)->links.size(); };
  const gen::PID ends = linked();
  CHECK(t.node.Send(ends, End{gen::Reason::Error("gone")}));
  REQUIRE(kit::Eventually([&] { return exits.size() == 1; }));
  CHECK(exits.All() == Texts{"pid: gone"});

  const gen::PID unlinks = linked();
  CHECK(t.Run(unlinks, [](Subject& self) { CHECK(self.Unlink("server")); }));
  CHECK(links(unlinks) == 0);
  CHECK(links(server) == 0);
  CHECK(t.Run(unlinks, [&](Subject& self) {
    CHECK(self.Link("server"));
    CHECK(self.Unlink(server));
  }));
  CHECK(links(unlinks) == 0);
  CHECK(links(server) == 0);

  const gen::PID stays = linked();
  CHECK(t.Run(server, [stays](Subject& self) { CHECK(self.Unlink(stays)); }));
  CHECK(links(stays) == 0);
  CHECK(t.node.Send(stays, End{gen::Reason::Error("not heard")}));
  CHECK(t.node.Send(unlinks, End{gen::Reason::Error("not heard")}));
  CHECK(t.Ended(stays));
  CHECK(t.Ended(unlinks));
  // A link by the PID is none by the name, and ends with neither of the two names.
  const gen::PID by_pid = t.Spawn();
  CHECK(t.Run(by_pid, [&](Subject& self) {
    CHECK(self.Link(server));
    CHECK(self.Link("server"));
    CHECK(self.Unlink("server"));
  }));
  CHECK(links(by_pid) == 1);
  CHECK(t.Run(by_pid, [&](Subject& self) { CHECK(self.Unlink("server")); }));  // as by the PID
  CHECK(links(by_pid) == 0);
  CHECK(t.Run(server, [](Subject&) {}));
  CHECK(exits.size() == 1);
}

TEST_CASE("named links: made and given up at the same time, each is told of once") {
  constexpr int kRounds = 300;
  Notes<std::string> exits;
  TestNode t({.workers = 2});
  const gen::PID one = t.Spawn(WriteExits(exits));
  const gen::PID server = t.Spawn();
  std::atomic<int> made{0};
  std::atomic<bool> done{false};
  t.Begin(one, [&](Subject& self) {
    for (int i = 0; i < kRounds; ++i) {
      if (self.Link("server")) ++made;
      self.Yield();
    }
    done = true;
  });
  while (!done) {
    (void)t.node.RegisterName("server", server);
    (void)t.node.UnregisterName("server");
  }
  CHECK(t.Run(one, [](Subject&) {}));
  // Links that stand already are not made again: as many signals at most, and none is left.
  CHECK(exits.size() <= static_cast<std::size_t>(made));
  CHECK(t.node.ProcessInfo(one)->links.empty());
  CHECK(t.node.ProcessInfo(server)->links.empty());
}

}  // namespace
}  // namespace ergon::node
