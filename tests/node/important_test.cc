// SendImportant: what other messages may lose on the way is refused here.
#include <ergon/act/pool.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

TEST_CASE("important: handled as any other message, and errors come back") {
  Notes<int> notes;
  TestNode t;
  const gen::PID pid =
      t.Spawn({.message =
                   [&](Subject&, gen::PID, gen::Message& message) {
                     notes.Add(message.Take<int>());
                     return gen::Continue();
                   },
               .call = [](Subject&, gen::PID, gen::Ref,
                          gen::Message& request) { return gen::Reply(request.Take<int>() + 1); }});
  CHECK(t.node.SendImportant(pid, 1));
  CHECK(t.node.CallImportant<int>(pid, 2) == 3);
  CHECK(notes.All() == std::vector<int>{1});
  CHECK(t.node.SendImportant("nobody", 1).error() == gen::ErrProcessUnknown);
  CHECK(t.node.Kill(pid));
  CHECK(t.Ended(pid));
  CHECK(t.node.SendImportant(pid, 1).error() == gen::ErrProcessTerminated);
  CHECK(t.node.CallImportant<int>(pid, 1).error() == gen::ErrProcessTerminated);
}

TEST_CASE("important: refused by a mailbox that drops its newest, and by one with a fallback") {
  Notes<std::string> fallbacks;
  TestNode t;
  const gen::PID fallback = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    fallbacks.Add(message.TypeName());
    return gen::Continue();
  }});
  CHECK(t.node.RegisterName("fallback", fallback));
  const gen::PID drops =
      t.Spawn({}, {.mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropNewest)});
  const gen::PID ordered =
      t.Spawn({}, {.mailbox = gen::Mailbox::BoundedPriority<Do>(
                       1, [](const Do&) { return 0; }, gen::Overflow::kDropNewest)});
  const gen::PID diverts = t.Spawn({}, {.mailbox_size = 1, .fallback = {.name = "fallback"}});
  for (const gen::PID pid : {drops, ordered, diverts}) {
    CHECK(t.node.Suspend(pid));
    CHECK(t.node.SendImportant(pid, Do{[](Subject&) {}}));
    CHECK(t.node.Send(pid, Do{[](Subject&) {}}));  // dropped or diverted
    CHECK(t.node.SendImportant(pid, Do{[](Subject&) {}}).error() == gen::ErrProcessMailboxFull);
    // A process may have all that it sends delivered so.
    CHECK(t.Run(fallback, [&](Subject& self) {
      self.SetImportantDelivery(true);
      CHECK(self.Send(pid, Do{[](Subject&) {}}).error() == gen::ErrProcessMailboxFull);
      self.SetImportantDelivery(false);
      CHECK(self.Send(pid, Do{[](Subject&) {}}));
      CHECK(self.SendImportant(pid, Do{[](Subject&) {}}).error() == gen::ErrProcessMailboxFull);
    }));
    CHECK(t.node.Resume(pid));
  }
  CHECK(t.node.Info().dropped_mailbox_full == 4);
  CHECK(kit::Eventually([&] { return fallbacks.size() == 2; }));
}

class Idle : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override { return gen::Continue(); }
};
class Idles : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 1,
                            .worker_factory = gen::Factory<Idle>(),
                            .worker_mailbox = gen::Mailbox::Bounded(1, gen::Overflow::kDropNewest)};
  }
};

TEST_CASE("important: refused by a pool whose workers would drop it") {
  TestNode t;
  const gen::PID pool = t.node.Spawn(gen::Factory<Idles>()).value();
  gen::PID worker;
  for (const gen::PID pid : t.node.ProcessList()) {
    if (t.node.ProcessInfo(pid)->parent == pool) worker = pid;
  }
  CHECK(t.node.Suspend(worker));
  CHECK(t.node.SendImportant(pool, 1));
  CHECK(t.node.Send(pool, 2));
  CHECK(t.node.SendImportant(pool, 3).error() == gen::ErrProcessMailboxFull);
  CHECK(t.node.Info().dropped_mailbox_full == 1);
  CHECK(t.node.Resume(worker));
}

}  // namespace
}  // namespace ergon::node
