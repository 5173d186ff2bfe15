// Processes with a thread of their own.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <ergon/gen/host/process_host.h>
#include <ergon/gen/process_behavior.h>

#include <kit/gate.h>
#include <kit/prober.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

const gen::ProcessOptions kDetached{.detached = true};

TEST_CASE("detached: runs on a thread of its own, always the same") {
  Notes<std::thread::id> threads;
  TestNode t;
  auto note = [&](Subject&) { threads.Add(std::this_thread::get_id()); };
  const gen::PID one = t.Spawn({}, kDetached);
  const gen::PID two = t.Spawn({}, kDetached);
  const gen::PID echo = t.Spawn();
  for (int i = 0; i < 3; ++i) CHECK(t.Run(one, note));
  CHECK(t.Run(one, [&](Subject& self) {
    CHECK(self.Call<bool>(echo, Do{[](Subject&) {}}).value());
    note(self);
    CHECK(self.Sleep(1ms));
    note(self);
  }));
  const auto all = threads.All();
  for (const auto& id : all) CHECK(id == all[0]);
  CHECK(t.Run(two, note));
  CHECK(t.Run(echo, note));
  CHECK(threads.All()[5] != all[0]);
  CHECK(threads.All()[6] != all[0]);
  CHECK(threads.All()[6] != threads.All()[5]);
  CHECK(t.node.ProcessInfo(one)->detached);
  CHECK(!t.node.ProcessInfo(echo)->detached);
}

TEST_CASE("detached: blocks without blocking others") {
  std::vector<gen::PID> blocked;
  TestNode t({.workers = 2});
  kit::ThreadGate gate;
  for (int i = 0; i < 6; ++i) {
    blocked.push_back(t.Spawn({}, kDetached));
    t.Begin(blocked.back(), [enter = gate.Holder()](Subject&) { enter(); });
  }
  CHECK(kit::Eventually([&] { return gate.Entered() == 6; }));
  for (int i = 0; i < 10; ++i)
    CHECK(t.Run(t.Spawn(), [](Subject& self) { (void)self.Sleep(1us); }));
  gate.Open();
  for (const gen::PID pid : blocked) CHECK(t.Run(pid, [](Subject&) {}));
}

TEST_CASE("detached: calls in all directions, and killed while it waits") {
  std::atomic<int> unwound{0};
  TestNode t;
  auto echo = [](Subject&, gen::PID, gen::Ref, gen::Message& request) {
    return gen::Reply(request.Take<int>());
  };
  const gen::PID shared = t.Spawn({.call = echo});
  const gen::PID one = t.Spawn({.call = echo}, kDetached);
  const gen::PID two = t.Spawn({.call = echo}, kDetached);
  for (const auto& [from, to] :
       {std::pair(shared, one), std::pair(one, shared), std::pair(one, two), std::pair(two, one)}) {
    CHECK(t.Run(from, [to = to](Subject& self) {
      for (int i = 0; i < 200; ++i) CHECK(self.Call<int>(to, i).value() == i);
    }));
  }
  t.Begin(one, [&](Subject& self) {
    Unwound guard(unwound);
    CHECK_FALSE(self.Sleep(gen::kInfinite));
  });
  CHECK(t.EventuallyWaiting(one));
  CHECK(t.node.Kill(one));
  CHECK(t.Ended(one));
  CHECK(unwound == 1);
}

TEST_CASE("detached: spawned by a process, by a detached one, with an Init that waits or fails") {
  TestNode t;
  const gen::PID parent = t.Spawn();
  const gen::PID detached = t.Spawn({}, kDetached);
  const auto waits = Make({.init = [](Subject& self, const gen::Args&) {
    CHECK(self.Sleep(1ms));
    return gen::Continue();
  }});
  const auto fails = Make(
      {.init = [](Subject&, const gen::Args&) -> gen::Status { throw std::runtime_error("no"); }});
  for (const gen::PID pid : {parent, detached}) {
    for (const bool child_detached : {true, false}) {
      CHECK(t.Run(pid, [&](Subject& self) {
        const gen::ProcessOptions options{.link_child = true, .detached = child_detached};
        auto child = self.Spawn(waits, options);
        CHECK(child);
        CHECK(self.Call<bool>(*child, Do{[](Subject&) {}}).value());
        auto failed = self.Spawn(fails, options);
        CHECK(!failed);
        CHECK(failed.error().detail() == "panic: no");
      }));
    }
  }
  CHECK(t.EventuallyProcesses(6));
}

TEST_CASE("detached: its relations are those of any process") {
  TestNode t;
  kit::ProberHandle watcher(t.node);
  const gen::PID pid = t.Spawn({}, kDetached);
  const gen::PID linked = t.Spawn();
  watcher.Watch(pid);
  CHECK(t.Run(pid, [&](Subject& self) { CHECK(self.Link(linked)); }));
  CHECK(t.node.Send(pid, End{gen::Reason::Error("own end")}));
  CHECK(watcher.EventuallyDown(pid));
  CHECK(watcher.inbox().ReasonOf(pid) == gen::Reason::Error("own end"));
  CHECK(t.Ended(linked));
}

TEST_CASE("detached: many, one after the other") {
  TestNode t;
  const int rounds = kit::Scaled(1'000);
  for (int i = 0; i < rounds; ++i) {
    const gen::PID pid = t.Spawn({}, kDetached);
    CHECK(t.Run(pid, [](Subject&) {}));
    CHECK(t.node.Send(pid, End{}));
    CHECK(t.Ended(pid));
    // In between the slot belongs to one that is not detached.
    const gen::PID other = t.Spawn();
    CHECK(!t.node.ProcessInfo(other)->detached);
    CHECK(t.node.Kill(other));
    CHECK(t.Ended(other));
  }
}

// Ends when another process has ended, for which it waits from its first message on.
class EndWaiter final : public gen::ProcessBehavior {
 public:
  explicit EndWaiter(gen::PID pid) : pid_(pid) {}
  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args&) override {
    host_ = &host;
    return gen::Continue();
  }
  gen::Status ProcessMessage(core::Envelope&) override {
    CHECK(host_->AwaitEnd(pid_, gen::kInfinite));
    return gen::Stop(gen::Reason::Normal());
  }
  void ProcessTerminate(const gen::Reason&) override {}

 private:
  const gen::PID pid_;
  gen::ProcessHost* host_ = nullptr;
};

// A process that has ended counts as ended a moment before its thread is given back. Who has waited for its end before
// is told afterwards.
TEST_CASE("detached: the thread of one that has ended serves the next one") {
  TestNode t;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 50; ++i) {
    const gen::PID pid = t.Spawn({}, {.detached = true});
    CHECK(t.Run(pid, [&](Subject&) {
      std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }));
    const gen::PID waiter = t.node.Spawn(gen::Factory<EndWaiter>(pid)).value();
    CHECK(t.node.Send(waiter, 0));
    REQUIRE(t.EventuallyWaiting(waiter));
    CHECK(t.node.Kill(pid));
    CHECK(t.Ended(waiter));
  }
  CHECK(threads.size() == 1);
}

}  // namespace
}  // namespace ergon::node
