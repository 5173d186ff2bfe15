#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include <doctest/doctest.h>

#include <ergon/gen/mailbox.h>

#include <cluster/cluster.h>
#include <kit/eventually.h>

namespace ergon::dist::message_receiver_test {
namespace {

// Takes nothing.
class Throws final : public gen::MailboxQueue {
 public:
  bool Enqueue(gen::OwnedMessage&, gen::OwnedMessage&) override { throw std::bad_alloc(); }
  gen::OwnedMessage Dequeue() override { return {}; }
  void Return(gen::OwnedMessage) override {}
  std::size_t size() const noexcept override { return 0; }
};

// Is there for messages that never come.
class Idle final : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override { return gen::Continue(); }
};

}  // namespace

TEST_CASE(
    "message receiver: what a mailbox throws is counted as that, not as if nobody was there") {
  Cluster cluster("throwing_mailbox");
  REQUIRE(cluster.b.SpawnRegister(
      "throws", gen::Factory<Idle>(),
      {.mailbox = gen::Mailbox::Custom([] { return std::make_unique<Throws>(); })}));
  CHECK(cluster.a.Send(cluster.OnB("throws"), Line{1, "a message"}));
  REQUIRE(kit::Eventually([&] { return cluster.b.MessageBalance().dropped_failed == 1; }));
  CHECK(cluster.a.Send(cluster.OnB("nobody"), Line{2, "a message"}));
  REQUIRE(kit::Eventually([&] { return cluster.b.MessageBalance().dropped_unknown == 1; }));
}

}  // namespace ergon::dist::message_receiver_test
