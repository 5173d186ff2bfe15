#include <future>

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
  CHECK_FALSE(plain.contains("name"));
  CHECK(t.node.Inspect(pid, {"trap_exit", "none"}).value() ==
        gen::Inspection{{"trap_exit", "false"}});
}

TEST_CASE("inspect C38: answered before what waits, also when the mailbox is full") {
  std::atomic<int> handled{0};
  std::atomic<int> handled_before{0};
  TestNode t;
  kit::Gate gate(t.node);
  Handlers handlers = Inspected();
  handlers.inspect = [&, answer = handlers.inspect](Subject& self,
                                                    const std::vector<std::string>& items) {
    handled_before = handled.load();
    return answer(self, items);
  };
  handlers.message = [&](Subject& self, gen::PID, gen::Message&) {
    handled.fetch_add(1);
    (void)self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite});
    return gen::Continue();
  };
  const gen::PID pid = t.Spawn(handlers, {.mailbox_size = 3});
  CHECK(t.node.Send(pid, 1));
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(pid, 1));
  CHECK(t.node.Send(pid, 1).error() == gen::ErrProcessMailboxFull);
  auto early = t.node.Inspect(pid, {}, {.timeout = 1ms});
  CHECK(early.error() == gen::ErrTimeout);
  // Asked on this thread, so that the question has arrived before the process goes on.
  std::promise<gen::Result<core::EnvelopePtr>> answered;
  t.node.CallEnvelopeAsync(
      pid,
      core::MakeEnvelope<gen::InspectRequest>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kInspect), core::Lane::kUrgent),
      kit::kDeadline,
      [&](gen::Result<core::EnvelopePtr> answer) { answered.set_value(std::move(answer)); });
  // One message is let go; the question is next, though three messages wait.
  gate.Admit(1);
  auto answer = answered.get_future().get();
  REQUIRE(answer);
  CHECK((*answer)->ValueAs<gen::Inspection>()->size() == 2);
  CHECK(handled_before == 1);
  gate.Open();
}

TEST_CASE("inspect: a process that ends, or whose HandleInspect throws") {
  TestNode t;
  const gen::PID throws =
      t.Spawn({.inspect = [](Subject&, const std::vector<std::string>&) -> gen::Inspection {
        throw std::runtime_error("closed");
      }});
  auto answer = t.node.Inspect(throws, {}, {.timeout = kit::kDeadline});
  CHECK(answer.error() == gen::ErrProcessTerminated);
  CHECK(answer.error().detail() == "panic: closed (handling ergon::gen::InspectRequest)");
  CHECK(t.Ended(throws));
  const gen::PID waits = t.Spawn(Inspected());
  t.Begin(waits, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  CHECK(t.EventuallyWaiting(waits));
  auto asked = std::async(std::launch::async,
                          [&] { return t.node.Inspect(waits, {}, {.timeout = kit::kDeadline}); });
  CHECK(t.node.Kill(waits));
  const auto result = asked.get();
  REQUIRE(!result);
  CHECK(result.error() == gen::ErrProcessTerminated);
}

}  // namespace
}  // namespace ergon::node
