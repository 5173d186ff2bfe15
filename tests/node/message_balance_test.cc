#include <ergon/gen/message_balance.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/host/pool_host.h>
#include <ergon/gen/process_behavior.h>

#include <kit/gate.h>
#include <kit/node_fixture.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

Handlers Silent() {
  return {.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }};
}

// What the counters say more than `before`.
gen::MessageBalance Since(const gen::MessageBalance& before, const gen::MessageBalance& after) {
  gen::MessageBalance since;
  since.accepted = after.accepted - before.accepted;
  since.handled = after.handled - before.handled;
  since.queued = after.queued - before.queued;
  since.held = after.held - before.held;
  since.dropped_terminated = after.dropped_terminated - before.dropped_terminated;
  since.dropped_unknown = after.dropped_unknown - before.dropped_unknown;
  since.dropped_mailbox_full = after.dropped_mailbox_full - before.dropped_mailbox_full;
  since.dropped_expired = after.dropped_expired - before.dropped_expired;
  return since;
}

TEST_CASE("message balance: messages, requests, delayed sends and events count; signals do not") {
  TestNode t;
  const gen::PID receiver = t.Spawn(Silent());
  const gen::PID sender = t.Spawn();
  const auto before = t.node.MessageBalance();
  CHECK(before.Unaccounted() == 0);
  // The requests that run these functions count as well.
  CHECK(t.Run(sender, [&](Subject& self) {
    CHECK(self.Send(receiver, 1));
    CHECK(self.SendWithPriority(receiver, 2, gen::MessagePriority::kHigh));
    CHECK(self.SendWithPriority(receiver, 3, gen::MessagePriority::kMax));
    CHECK(self.SendAfter(receiver, 4, 1us));
    CHECK(self.Inspect(receiver));
    CHECK(self.Monitor(receiver));
    CHECK(self.Link(receiver));
    CHECK(self.Unlink(receiver));
    CHECK(!self.Send(gen::PID(), 5));
  }));
  CHECK(kit::Eventually([&] { return Since(before, t.node.MessageBalance()).handled == 5; }));
  const auto since = Since(before, t.node.MessageBalance());
  CHECK(since.accepted == 5);
  CHECK(since.Unaccounted() == 0);
  CHECK(t.node.ProcessInfo(sender)->messages_sent == 3);
  CHECK(t.node.ProcessInfo(receiver)->messages_handled == 4);
}

TEST_CASE("message balance: what waits is queued, what its receiver left behind is dropped") {
  TestNode t;
  kit::ThreadGate gate;
  const gen::PID pid = t.Spawn(Silent());
  t.Begin(pid, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  const auto before = t.node.MessageBalance();
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(pid, i));
  for (int i = 0; i < 4; ++i) {
    CHECK(t.node.SendWithPriority(pid, i, gen::MessagePriority::kMax));
  }
  const auto waiting = Since(before, t.node.MessageBalance());
  CHECK(waiting.accepted == 7);
  CHECK(waiting.queued == 7);
  CHECK(waiting.Unaccounted() == 0);
  CHECK(t.node.Kill(pid));
  gate.Open();
  CHECK(t.Ended(pid));
  CHECK(kit::Eventually([&] { return t.node.MessageBalance().Unaccounted() == 0; }));
  const auto dropped = Since(before, t.node.MessageBalance());
  CHECK(dropped.dropped_terminated == 7);
  CHECK(dropped.queued == 0);
}

TEST_CASE("message balance: the counters of those that have ended are kept") {
  TestNode t;
  const gen::PID receiver = t.Spawn(Silent());
  const gen::PID sender = t.Spawn();
  CHECK(t.Run(sender, [&](Subject& self) {
    for (int i = 0; i < 10; ++i) CHECK(self.Send(receiver, i));
  }));
  CHECK(t.node.StopProcess(receiver));
  CHECK(t.node.StopProcess(sender));
  const auto balance = t.node.MessageBalance();
  CHECK(balance.accepted == 11);
  CHECK(balance.handled == 11);
  CHECK(balance.Unaccounted() == 0);
}

// Takes each message away from the runtime: keeps it, or loses it.
class Hoarder final : public gen::ProcessBehavior {
 public:
  struct Lose {};
  struct PassOn {
    gen::PID to;
  };

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args&) override {
    host_ = &host;
    return gen::Continue();
  }
  gen::Status ProcessMessage(core::Envelope& envelope) override {
    if (const auto* to = envelope.ValueAs<PassOn>()) {
      CHECK(host_->ForPool().Forward(to->to, kept_, false));
    } else if (envelope.ValueAs<Lose>() != nullptr) {
      kept_.reset();
    } else {
      kept_ = host_->Detach(envelope);
    }
    return gen::Continue();
  }
  void ProcessTerminate(const gen::Reason&) override {}

 private:
  gen::ProcessHost* host_ = nullptr;
  core::EnvelopePtr kept_;
};

TEST_CASE("message balance: what a behaviour keeps is held until it passes it on") {
  TestNode t;
  const gen::PID receiver = t.Spawn(Silent());
  const gen::PID hoarder = t.node.Spawn(gen::Factory<Hoarder>()).value();
  CHECK(t.node.Send(hoarder, 1));
  CHECK(kit::Eventually([&] { return t.node.MessageBalance().held == 1; }));
  CHECK(t.node.ProcessInfo(hoarder)->messages_held == 1);
  CHECK(t.node.MessageBalance().Unaccounted() == 0);
  CHECK(t.node.Send(hoarder, Hoarder::PassOn{receiver}));
  CHECK(kit::Eventually([&] { return t.node.MessageBalance().handled == 2; }));
  CHECK(t.node.MessageBalance().held == 0);
  CHECK(t.node.MessageBalance().accepted == 2);
  CHECK(t.node.MessageBalance().Unaccounted() == 0);
}

TEST_CASE("message balance: a message that a behaviour loses is missing when that has ended") {
  TestNode t;
  const gen::PID hoarder = t.node.Spawn(gen::Factory<Hoarder>()).value();
  CHECK(t.node.Send(hoarder, 1));
  CHECK(t.node.Send(hoarder, Hoarder::Lose{}));
  CHECK(t.node.StopProcess(hoarder));
  const auto balance = t.node.MessageBalance();
  CHECK(balance.accepted == 2);
  CHECK(balance.handled == 1);
  CHECK(balance.Unaccounted() == 1);
  CHECK(balance.ToString().find("1 unaccounted") != std::string::npos);
  t.expected_losses = 1;
}

TEST_CASE("message balance: a pool without workers holds what it gets, and accounts for it") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(2, 4);
  kit::Gate gate(fixture.node);
  fixture.HoldEach(gate, pool.Workers());
  int accepted = 0;
  while (fixture.node.Send(pool.pid(), kit::Job{accepted, {}})) ++accepted;
  CHECK(accepted == 8);
  CHECK(fixture.node.MessageBalance().queued == 8);
  for (const gen::PID worker : pool.Workers()) CHECK(fixture.node.Kill(worker));
  REQUIRE(pool.EventuallyAtRest());
  CHECK(kit::Eventually([&] { return fixture.node.MessageBalance().Unaccounted() == 0; }));
  gate.Open();
}

}  // namespace
}  // namespace ergon::node
