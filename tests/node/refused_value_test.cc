// What a send refuses is the sender's again.
#include <memory>
#include <string>

#include <ergon/act/pool.h>
#include <ergon/gen/match_request.h>

#include <kit/gate.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct RefusedJob {
  std::unique_ptr<std::string> text = std::make_unique<std::string>("a long text, not to be lost");
  [[nodiscard]] bool IsWhole() const { return text != nullptr && text->starts_with("a long"); }
};

// Sends `job` until it is refused; `send` does it once.
template <class Send>
gen::Error UntilRefused(Send send) {
  for (;;) {
    RefusedJob job;
    auto sent = send(std::move(job));
    if (sent) {
      CHECK(job.text == nullptr);
      continue;
    }
    CHECK(job.IsWhole());
    return sent.error();
  }
}

void CheckAllSends(TestNode& t, gen::PID full, const gen::Error& error) {
  const auto checks = [&](auto& sender) {
    CHECK(UntilRefused([&](RefusedJob&& job) { return sender.Send(full, std::move(job)); }) ==
          error);
    CHECK(UntilRefused([&](RefusedJob&& job) {
            return sender.Send(gen::Target(full), std::move(job));
          }) == error);
    CHECK(UntilRefused([&](RefusedJob&& job) {
            return sender.SendImportant(full, std::move(job));
          }) == error);
    CHECK(UntilRefused([&](RefusedJob&& job) {
            return sender.SendWithPriority(full, std::move(job), gen::MessagePriority::kNormal);
          }) == error);
  };
  checks(t.node);
  CHECK(UntilRefused([&](RefusedJob&& job) {
          return t.node.SendOrWait(full, std::move(job), 0ns);
        }) == error);
  CHECK(t.Run(t.Spawn(), [&](Subject& self) { checks(self); }));
}

TEST_CASE("refused value: a full mailbox") {
  kit::ThreadGate gate;
  TestNode t({.workers = 2});
  const gen::PID busy =
      t.Spawn({.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }},
              {.mailbox_size = 3});
  t.Begin(busy, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CheckAllSends(t, busy, gen::ErrProcessMailboxFull);
  gate.Open();
}

TEST_CASE("refused value: a full fallback gives it back") {
  kit::ThreadGate gate;
  TestNode t({.workers = 3});
  const gen::PID fallback = t.Spawn({}, {.mailbox_size = 1});
  CHECK(t.Run(fallback, [](Subject& self) { CHECK(self.RegisterName("refused_fallback")); }));
  const gen::PID busy =
      t.Spawn({}, {.mailbox_size = 1, .fallback = {.name = "refused_fallback", .tag = "x"}});
  t.Begin(fallback, [enter = gate.Holder()](Subject&) { enter(); });
  t.Begin(busy, [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 2; }));
  CheckAllSends(t, busy, gen::ErrProcessMailboxFull);
  gate.Open();
}

TEST_CASE("refused value: a receiver that has ended, and a name that nobody has") {
  TestNode t;
  const gen::PID dead = t.Spawn();
  CHECK(t.node.Kill(dead));
  CHECK(t.Ended(dead));
  CheckAllSends(t, dead, gen::ErrProcessTerminated);
  RefusedJob job;
  CHECK(t.node.Send("refused_nobody", std::move(job)).error() == gen::ErrProcessUnknown);
  CHECK(job.IsWhole());  // NOLINT(bugprone-use-after-move): that is the promise
  struct Fixed {         // cannot be assigned
    const int number;
    std::unique_ptr<int> owned;
  };
  Fixed fixed{7, std::make_unique<int>(8)};
  CHECK(t.node.Send("refused_nobody", std::move(fixed)).error() == gen::ErrProcessUnknown);
  CHECK(fixed.number == 7);         // NOLINT(bugprone-use-after-move)
  REQUIRE(fixed.owned != nullptr);  // NOLINT(bugprone-use-after-move)
  CHECK(*fixed.owned == 8);
}

class RefusedWorker final : public act::Actor {
 public:
  explicit RefusedWorker(std::function<void()> enter) : enter_(std::move(enter)) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    enter_();
    return gen::Continue();
  }
  std::function<void()> enter_;
};
class RefusedPool final : public act::Pool {
 public:
  explicit RefusedPool(std::function<void()> enter) : enter_(std::move(enter)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 2,
                            .worker_factory = gen::Factory<RefusedWorker>(enter_),
                            .worker_mailbox_size = 2};
  }
  std::function<void()> enter_;
};

TEST_CASE("refused value: a pool whose workers are all full") {
  kit::ThreadGate gate;
  TestNode t({.workers = 3});
  const gen::PID pool =
      t.node.Spawn(gen::Factory<RefusedPool>(std::function<void()>(gate.Holder()))).value();
  CHECK(t.node.Send(pool, RefusedJob()));
  CHECK(t.node.Send(pool, RefusedJob()));
  CHECK(kit::Eventually([&] { return gate.Entered() == 2; }));
  CheckAllSends(t, pool, gen::ErrProcessMailboxFull);
  gate.Open();
}

TEST_CASE("refused value: what was not given away is not touched") {
  TestNode t;
  const gen::PID dead = t.Spawn();
  CHECK(t.node.Kill(dead));
  CHECK(t.Ended(dead));
  const std::string constant = "constant";
  std::string text = "text";
  CHECK_FALSE(t.node.Send(dead, constant));
  CHECK_FALSE(t.node.Send(dead, text));
  CHECK(text == "text");
  CHECK_FALSE(t.node.Send(dead, "literal"));
}

// ---- requests that name the type of their answer

struct Sum {
  using Reply = long;
  int left = 0;
  int right = 0;
};

TEST_CASE("typed request: the type of a call's result is that of its request's Reply") {
  TestNode t;
  const gen::PID adder =
      t.Spawn({.call = [](Subject& self, gen::PID from, gen::Ref ref, gen::Message& request) {
        (void)self, (void)from, (void)ref;
        auto result = gen::MatchRequest(
            request, [](const Sum& sum) { return static_cast<long>(sum.left) + sum.right; });
        return result ? std::move(*result) : gen::NoReply();
      }});
  gen::Result<long> sum = t.node.Call(adder, Sum{1, 2});
  REQUIRE(sum);
  CHECK(*sum == 3);
  CHECK(t.node.CallWithPriority(adder, Sum{2, 2}, gen::MessagePriority::kMax).value() == 4);
  CHECK(t.node.CallImportant(adder, Sum{2, 3}).value() == 5);
  CHECK(t.node.Call<long>(adder, Sum{3, 3}).value() == 6);
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    const Sum question{4, 4};
    CHECK(self.Call(adder, question).value() == 8);
    CHECK(self.Call(adder, Sum{4, 5}, {.timeout = 1min}).value() == 9);
  }));
}

}  // namespace
}  // namespace ergon::node
