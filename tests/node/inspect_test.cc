#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <ergon/act/supervisor.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

Handlers Inspected() {
  return {.inspect = [](Subject&, const std::vector<std::string>& items) {
    gen::Inspection all = {{"color", "blue"}, {"size", "5"}};
    if (items.empty()) return all;
    gen::Inspection some;
    for (const std::string& item : items) {
      if (all.contains(item)) some[item] = all[item];
    }
    return some;
  }};
}

TEST_CASE("inspect: everything, or some items; from outside and from a process") {
  TestNode t;
  const gen::PID pid = t.node.SpawnRegister("inspected", Make(Inspected())).value();
  const gen::PID asker = t.Spawn();
  CHECK(t.node.Inspect(pid).value() == gen::Inspection{{"color", "blue"}, {"size", "5"}});
  CHECK(t.node.Inspect("inspected", {"size", "none"}).value() == gen::Inspection{{"size", "5"}});
  CHECK(t.node.Inspect(asker).value().empty());
  CHECK(t.Run(asker, [&](Subject& self) {
    CHECK(self.Inspect(pid, {"color"}).value() == gen::Inspection{{"color", "blue"}});
    CHECK(self.Inspect(self.Self()).error() == gen::ErrDeadlock);
  }));
  CHECK(t.node.Inspect(pid, {}, {.timeout = 0s}).error() == gen::ErrIncorrect);
}

TEST_CASE("inspect: an actor that has nothing to tell tells what everybody has") {
  class Plain : public act::Actor {};
  TestNode t;
  const gen::PID pid = t.node.Spawn(gen::Factory<Plain>()).value();
  const auto plain = t.node.Inspect(pid).value();
  CHECK(plain.at("pid") == pid.ToString());
  CHECK(plain.at("behavior").ends_with("::Plain"));
  CHECK(plain.at("state") == "running");
  CHECK(plain.at("messages_queued") == "0");
  CHECK(plain.at("mailbox") == "unbounded");
  CHECK(plain.at("mailbox_size") == "0");
  CHECK(plain.at("handles") == "an inspection");
  CHECK_FALSE(plain.contains("name"));
  CHECK_FALSE(plain.contains("environment"));
  CHECK(t.node.Inspect(pid, {"trap_exit", "none"}).value() ==
        gen::Inspection{{"trap_exit", "false"}});
}

// Waits for the gate, and tells what everybody has.
class AtTheGate : public act::Actor {
 public:
  explicit AtTheGate(gen::PID gate) : gate_(gate) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    (void)Call<bool>(gate_, kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  }
  const gen::PID gate_;
};

struct InspectedOrder {
  static constexpr const char* kTag = "order";
};

TEST_CASE("inspect: what everybody has says what is handled, and names what the environment has") {
  TestNode t;
  kit::Gate gate(t.node);
  const gen::PID pid =
      t.node
          .Spawn(
              gen::Factory<AtTheGate>(gate.pid()),
              {.mailbox_size = 7, .environment = {{"password", "opensesame"}, {"region", "north"}}})
          .value();
  CHECK(t.node.Send(pid, InspectedOrder()));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  const auto told = t.node.Inspect(pid).value();
  CHECK(told.at("handles") == "order");
  CHECK(told.at("mailbox_size") == "7");
  CHECK(told.at("environment") == "password, region");
  for (const auto& [key, value] : told) CHECK(value.find("opensesame") == std::string::npos);
  gate.Open();
}

TEST_CASE("inspect: of a long list the first ones, and how many more there are") {
  class Plain : public act::Actor {};
  TestNode t;
  const gen::PID pid = t.node.Spawn(gen::Factory<Plain>()).value();
  const gen::PID watcher = t.Spawn();
  CHECK(t.Run(watcher, [&](Subject& self) {
    for (int i = 0; i < 1'000; ++i) CHECK(self.Monitor(pid));
  }));
  const std::string watchers = t.node.Inspect(pid).value().at("monitored_by");
  CHECK(watchers.starts_with(watcher.ToString() + ", "));
  CHECK(watchers.ends_with(watcher.ToString() + " and 900 more"));
}

// The question is in the mailbox when this returns.
void AskNow(Node& node, gen::PID pid, std::promise<gen::Result<core::EnvelopePtr>>& answered) {
  node.CallEnvelopeAsync(
      pid,
      core::MakeEnvelope<gen::InspectRequest>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kInspect), core::Lane::kUrgent),
      kit::kDeadline,
      [&](gen::Result<core::EnvelopePtr> answer) { answered.set_value(std::move(answer)); });
}

TEST_CASE("inspect: answered before what waits, also when the mailbox is full") {
  std::atomic<int> handled{0};
  std::atomic<int> handled_before{0};
  std::promise<void> may_go_on;
  std::shared_future<void> let_go = may_go_on.get_future().share();
  TestNode t;
  Handlers handlers = Inspected();
  handlers.inspect = [&, answer = handlers.inspect](Subject& self,
                                                    const std::vector<std::string>& items) {
    handled_before = handled.load();
    return answer(self, items);
  };
  handlers.message = [&](Subject&, gen::PID, gen::Message&) {
    handled.fetch_add(1);
    let_go.wait();  // it keeps its thread: a process that is suspended answers
    return gen::Continue();
  };
  const gen::PID pid = t.Spawn(handlers, {.mailbox_size = 3});
  CHECK(t.node.Send(pid, 1));
  CHECK(kit::Eventually([&] { return handled == 1; }));
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(pid, 1));
  CHECK(t.node.Send(pid, 1).error() == gen::ErrProcessMailboxFull);
  auto early = t.node.Inspect(pid, {}, {.timeout = 1ms});
  CHECK(early.error() == gen::ErrTimeout);
  std::promise<gen::Result<core::EnvelopePtr>> answered;
  AskNow(t.node, pid, answered);
  // The question is next, though three messages wait.
  may_go_on.set_value();
  auto answer = answered.get_future().get();
  REQUIRE(answer);
  CHECK((*answer)->ValueAs<gen::Inspection>()->size() == 2);
  CHECK(handled_before == 1);
}

TEST_CASE("inspect: a process answers while its handler waits, whatever for") {
  TestNode t;
  kit::Gate gate(t.node);
  const gen::PID full = t.Spawn({}, {.mailbox_size = 1});
  CHECK(t.node.Suspend(full));
  CHECK(t.node.Send(full, 1));
  struct InspectCase {
    const char* what;
    std::function<void(Subject&)> wait;
  };
  for (const InspectCase& one : std::vector<InspectCase>{
           {"Call",
            [&](Subject& self) {
              (void)self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
            }},
           {"Sleep", [](Subject& self) { (void)self.Sleep(gen::kInfinite); }},
           {"SendOrWait",
            [&](Subject& self) { (void)self.SendOrWait(full, 2, gen::kInfinite); }}}) {
    INFO(one.what);
    const gen::PID pid = t.Spawn(Inspected());
    t.Begin(pid, one.wait);
    CHECK(t.EventuallyWaiting(pid));
    for (int i = 0; i < 3; ++i) {
      CHECK(t.node.Inspect(pid, {}, kPatient).value().at("color") == "blue");
    }
    CHECK(t.node.ProcessInfo(pid)->state == gen::ProcessState::kWaiting);
    CHECK(t.node.Kill(pid));
    CHECK(t.Ended(pid));
  }
}

TEST_CASE("inspect: a wait that begins when an inspection is there already ends in time") {
  TestNode t;
  kit::Gate gate(t.node);
  const gen::PID full = t.Spawn({}, {.mailbox_size = 1});
  CHECK(t.node.Suspend(full));
  CHECK(t.node.Send(full, 1));
  for (const auto& wait : std::vector<std::function<void(Subject&)>>{
           [](Subject& self) { CHECK(self.Sleep(1ms)); },
           [&](Subject& self) {
             const auto opened = self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = 1ms});
             CHECK(opened.error() == gen::ErrTimeout);
           },
           [&](Subject& self) {
             CHECK(self.SendOrWait(full, 2, 1ms).error() == gen::ErrProcessMailboxFull);
           }}) {
    std::promise<gen::Result<core::EnvelopePtr>> answered;
    const gen::PID pid = t.Spawn(Inspected());
    CHECK(t.Run(pid, [&](Subject& self) {
      AskNow(t.node, pid, answered);
      wait(self);
    }));
    CHECK(answered.get_future().get().has_value());
  }
}

TEST_CASE("inspect: the one who is called asks its caller") {
  TestNode t;
  const gen::PID callee = t.Spawn({.call = [](Subject& self, gen::PID from, gen::Ref, auto&) {
    return gen::Reply(self.Inspect(from, {"size"}, kPatient).value().at("size"));
  }});
  const gen::PID caller = t.Spawn(Inspected());
  CHECK(t.Run(caller, [&](Subject& self) {
    CHECK(self.Call<std::string>(callee, 1, kPatient).value() == "5");
  }));
}

TEST_CASE("inspect: calls that race with inspections of their caller lose nothing") {
  TestNode t;
  const gen::PID callee = t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message& m) {
    return gen::Reply(m.Take<int>() + 1);
  }});
  const gen::PID caller = t.Spawn(Inspected());
  const int rounds = kit::Scaled(5'000);
  std::atomic<bool> is_done{false};
  t.Begin(caller, [&](Subject& self) {
    for (int i = 0; i < rounds; ++i) CHECK(self.Call<int>(callee, i, kPatient).value() == i + 1);
    is_done = true;
  });
  while (!is_done) CHECK(t.node.Inspect(caller, {}, kPatient).value().size() == 2);
}

// Its callbacks wait once they may.
struct SlowCallbacks {
  std::atomic<bool> wait{false};
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> calls{0};
  Notes<gen::PID> children;
};

TEST_CASE("inspect: a supervisor whose callback waits answers, and calls none inside of it") {
  class Slow : public act::Supervisor {
   public:
    explicit Slow(SlowCallbacks* seen) : seen_(*seen) {}

   private:
    gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
      return act::SupervisorSpec{.children = {{.name = "slow_child", .factory = Make({})}}};
    }
    gen::Status HandleChildStart(gen::Atom, gen::PID child) override {
      seen_.children.Add(child);
      return Wait();
    }
    gen::Status HandleChildTerminate(gen::Atom, gen::PID, const gen::Reason&) override {
      return Wait();
    }
    gen::Status Wait() {
      ++seen_.calls;
      seen_.most = std::max(seen_.most.load(), ++seen_.inside);
      while (seen_.wait) (void)Sleep(1ms);
      --seen_.inside;
      return gen::Continue();
    }
    SlowCallbacks& seen_;
  };
  SlowCallbacks seen;
  TestNode t;
  const gen::PID pid = t.node.Spawn(gen::Factory<Slow>(&seen)).value();
  CHECK(seen.calls == 1);
  seen.wait = true;
  CHECK(t.node.Kill(seen.children.All().at(0)));
  CHECK(kit::Eventually([&] { return seen.inside == 1; }));
  for (int i = 0; i < 5; ++i) CHECK(t.node.Inspect(pid, {}, kPatient));
  seen.wait = false;
  CHECK(kit::Eventually([&] { return seen.calls == 3; }));
  CHECK(seen.most == 1);
}

TEST_CASE("inspect: a process that ends, or whose HandleInspect throws") {
  TestNode t;
  const gen::PID throws =
      t.Spawn({.inspect = [](Subject&, const std::vector<std::string>&) -> gen::Inspection {
        throw std::runtime_error("closed");
      }});
  auto answer = t.node.Inspect(throws, {}, {.timeout = kit::kDeadline});
  CHECK(answer.error() == gen::ErrProcessTerminated);
  CHECK(answer.error().detail() == "panic: closed (handling an inspection)");
  CHECK(t.Ended(throws));
  // One that keeps its thread: a process that is suspended would answer.
  std::promise<void> may_go_on;
  std::atomic<bool> has_begun{false};
  const gen::PID holds = t.Spawn(Inspected());
  t.Begin(holds, [&, let_go = may_go_on.get_future().share()](Subject&) {
    has_begun = true;
    let_go.wait();
  });
  CHECK(kit::Eventually([&] { return has_begun.load(); }));
  std::promise<gen::Result<core::EnvelopePtr>> answered;
  AskNow(t.node, holds, answered);
  CHECK(t.node.Kill(holds));
  may_go_on.set_value();
  const auto result = answered.get_future().get();
  REQUIRE(result);
  CHECK(*(*result)->ValueAs<gen::Error>() == gen::ErrProcessTerminated);
}

}  // namespace
}  // namespace ergon::node
