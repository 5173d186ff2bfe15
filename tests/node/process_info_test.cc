#include <atomic>
#include <chrono>
#include <thread>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE("process info: what it says of a process") {
  gen::PID pid;
  gen::Alias alias;
  TestNode t;
  const gen::PID parent = t.Spawn();
  CHECK(t.Run(parent, [&](Subject& self) {
    pid = self.SpawnRegister(
                  "informed", Make({}),
                  {.mailbox_size = 7, .link_parent = true, .log_level = gen::LogLevel::kTrace})
              .value();
  }));
  CHECK(t.Run(pid, [&](Subject& self) {
    alias = self.CreateAlias().value();
    self.SetTrapExit(true);
    self.Monitor(parent).value();
  }));
  CHECK(t.Run(parent, [&](Subject& self) { self.Monitor(pid).value(); }));
  const auto info = t.node.ProcessInfo(pid).value();
  CHECK(info.pid == pid);
  CHECK(info.name == gen::Atom("informed"));
  CHECK(info.behavior == "ergon::node::Subject");
  CHECK(info.parent == parent);
  CHECK(info.mailbox_size == 7);
  CHECK(info.messages_queued == 0);
  CHECK(info.trap_exit);
  CHECK(!info.detached);
  CHECK(info.log_level == gen::LogLevel::kTrace);
  CHECK(info.uptime > 0ns);
  CHECK(info.links == std::vector<gen::PID>{parent});
  CHECK(info.monitors == std::vector<gen::PID>{parent});
  CHECK(info.monitored_by == std::vector<gen::PID>{parent});
  CHECK(info.aliases == std::vector<gen::Alias>{alias});
  CHECK(t.node.ProcessInfo(parent)->parent == t.node.Self());
  CHECK(t.node.ProcessInfo(parent)->log_level == gen::LogLevel::kInfo);
}

TEST_CASE("process info: states") {
  gen::PID slow;
  std::atomic<bool> known{false};
  TestNode t;
  kit::ThreadGate gate;
  auto state_of = [&](gen::PID pid) { return t.node.ProcessInfo(pid)->state; };
  auto eventually = [&](gen::PID pid, gen::ProcessState state) {
    return kit::Eventually([&] { return state_of(pid) == state; });
  };
  const gen::PID pid = t.Spawn();
  CHECK(eventually(pid, gen::ProcessState::kIdle));
  CHECK(t.node.ProcessInfo(pid)->handles.empty());
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(state_of(pid) == gen::ProcessState::kRunning);
  CHECK(t.node.ProcessInfo(pid)->handles.starts_with("ergon::node::"));
  CHECK(t.node.Send(pid, 1));
  CHECK(t.node.ProcessInfo(pid)->messages_queued == 1);
  gate.Open();
  CHECK(eventually(pid, gen::ProcessState::kIdle));
  CHECK(t.node.ProcessInfo(pid)->messages_handled == 2);
  t.Begin(pid, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  CHECK(eventually(pid, gen::ProcessState::kWaiting));
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));

  // In Init and in Terminate it can be asked about, too.
  kit::Gate begin(t.node);
  kit::Gate end(t.node);
  std::thread spawner([&] {
    CHECK(t.node.Spawn(Make({.init =
                                 [&](Subject& self, const gen::Args&) {
                                   slow = self.Self();
                                   known = true;
                                   (void)self.Call<bool>(begin.pid(), kit::EnterGate{});
                                   return gen::Continue();
                                 },
                             .terminate =
                                 [&](Subject& self, const gen::Reason&) {
                                   (void)self.Call<bool>(end.pid(), kit::EnterGate{});
                                 }})));
  });
  CHECK(kit::Eventually([&] { return known && begin.Entered() == 1; }));
  CHECK(t.node.ProcessInfo(slow));
  begin.Open();
  spawner.join();
  CHECK(t.node.Send(slow, End{}));
  CHECK(kit::Eventually([&] { return end.Entered() == 1; }));
  CHECK(!t.node.ProcessInfo(slow)->handles.empty());
  end.Open();
  CHECK(t.Ended(slow));
}

TEST_CASE("process info: the list of processes") {
  std::vector<gen::PID> pids;
  TestNode t;
  CHECK(t.node.ProcessList().empty());
  for (int i = 0; i < 5; ++i) pids.push_back(t.Spawn());
  auto list = t.node.ProcessList();
  std::sort(list.begin(), list.end());
  std::sort(pids.begin(), pids.end());
  CHECK(list == pids);
  CHECK(t.node.Kill(pids[2]));
  CHECK(t.Ended(pids[2]));
  pids.erase(pids.begin() + 2);
  list = t.node.ProcessList();
  std::sort(list.begin(), list.end());
  CHECK(list == pids);
}

TEST_CASE("process info: whoever has waited for an end finds the process counted as ended") {
  const std::uint64_t rounds = kit::Scaled(20'000);
  TestNode t;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const gen::PID pid = t.Spawn();
    CHECK((round % 2 == 0 ? t.node.Send(pid, End{}) : t.node.Kill(pid)));
    // The question comes before the end, in each of its steps, and after it.
    const auto then =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(round * 7 % 5'000);
    while (std::chrono::steady_clock::now() < then) {
    }
    REQUIRE(t.Ended(pid));
    const auto info = t.node.Info();
    REQUIRE(info.processes == 0);
    REQUIRE(info.processes_ended == round);
    REQUIRE(info.processes_failed == (round + 1) / 2);
  }
}

TEST_CASE("process info: the node's own numbers") {
  TestNode t({.workers = 3, .throughput = 17});
  auto info = t.node.Info();
  CHECK(info.name == t.node.Name());
  CHECK(info.creation == t.node.Self().creation);
  CHECK(info.creation > 3);
  CHECK(info.workers == 3);
  CHECK(info.throughput == 17);
  CHECK(!info.dispatcher.empty());
  const gen::PID one = t.node.SpawnRegister("one", Make({})).value();
  const gen::PID two = t.Spawn();
  CHECK(t.Run(one, [](Subject& self) { self.CreateAlias().value(); }));
  info = t.node.Info();
  CHECK(info.processes == 2);
  CHECK(info.processes_spawned == 2);
  CHECK(info.names == 1);
  CHECK(info.aliases == 1);
  CHECK(info.turns > 0);
  CHECK(info.uptime > 0ns);
  CHECK(t.node.Send(two, End{}));
  CHECK(t.node.Kill(one));
  CHECK(t.EventuallyProcesses(0));
  info = t.node.Info();
  CHECK(info.processes_ended == 2);
  CHECK(info.processes_failed == 1);
  CHECK(info.names == 0);
  CHECK(info.aliases == 0);
}

TEST_CASE("process info: how many wait for a worker") {
  TestNode t({.workers = 2});
  kit::ThreadGate gate;
  const gen::PID busy = t.Spawn();
  const gen::PID too = t.Spawn();
  const gen::PID one = t.Spawn();
  const gen::PID two = t.Spawn();
  CHECK(kit::Eventually([&] { return t.node.Info().ready == 0; }));
  for (const gen::PID pid : {busy, too}) {
    t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  }
  CHECK(kit::Eventually([&] { return gate.Entered() == 2; }));
  CHECK(t.node.Send(one, 1));
  CHECK(t.node.Send(two, 1));
  CHECK(t.node.Info().ready == 2);
  gate.Open();
  CHECK(kit::Eventually([&] { return t.node.Info().ready == 0; }));
}

TEST_CASE("process info: asked all the time while processes come, change and go") {
  std::atomic<bool> done{false};
  std::atomic<int> seen{0};
  TestNode t;
  std::thread asker([&] {
    while (!done) {
      for (const gen::PID pid : t.node.ProcessList()) {
        const auto info = t.node.ProcessInfo(pid);
        if (info && info->behavior == "ergon::node::Subject") seen.fetch_add(1);
      }
      (void)t.node.Info();
    }
  });
  const gen::PID hub = t.Spawn();
  for (int i = 0; i < kit::Scaled(2'000); ++i) {
    const gen::PID pid = t.Spawn();
    CHECK(t.Run(pid, [&](Subject& self) {
      self.CreateAlias().value();
      self.Monitor(hub).value();
      (void)self.RegisterName("busy");
      (void)self.Sleep(1ns);
    }));
    CHECK(t.node.Send(pid, End{}));
    CHECK(t.Ended(pid));
  }
  CHECK(kit::Eventually([&] { return seen > 0; }));
  done = true;
  asker.join();
}

}  // namespace
}  // namespace ergon::node
