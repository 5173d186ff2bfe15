#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/node_fixture.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Open {};
struct Stashable {
  int rank = 0;
  int id = 0;
};

using Ids = std::vector<int>;

// Stashes items until it is opened.
class Shop {
 public:
  explicit Shop(TestNode& t, gen::ProcessOptions options = {})
      : t_(t), pid_(t.Spawn(Behavior(), options)) {}

  [[nodiscard]] gen::PID pid() const { return pid_; }
  void Put(int id, int rank = 0) { CHECK(t_.node.Send(pid_, Stashable{rank, id})); }
  [[nodiscard]] bool EventuallyStashed(std::uint64_t count) const {
    return kit::Eventually([&] { return t_.node.ProcessInfo(pid_)->messages_held == count; });
  }
  // What it has handled, when it is done with `expected`.
  [[nodiscard]] Ids Handled(int expected) {
    CHECK(kit::Eventually([&] { return count_.load() == expected; }));
    return ids_;
  }
  std::atomic<int> refused{0};
  std::atomic<std::size_t> unstashed{0};

 private:
  Handlers Behavior() {
    return {.message =
                [this](Subject& self, gen::PID, gen::Message& message) {
                  if (message.Is<Open>()) {
                    open_ = true;
                    unstashed = self.UnstashAll();
                  } else if (!open_) {
                    if (!self.Stash(message)) {
                      refused.fetch_add(1);
                      CHECK_FALSE(message);  // it is gone
                    }
                  } else {
                    Note(*message.As<Stashable>());
                  }
                  return gen::Continue();
                },
            .call = [this](Subject& self, gen::PID, gen::Ref,
                           gen::Message& request) -> gen::CallResult {
              if (!open_) {
                if (!self.Stash(request)) refused.fetch_add(1);
                return gen::NoReply();
              }
              Note(*request.As<Stashable>());
              return gen::Reply(request.As<Stashable>()->id);
            }};
  }
  void Note(const Stashable& item) {
    ids_.push_back(item.id);
    count_.fetch_add(1);
  }

  TestNode& t_;
  bool open_ = false;
  Ids ids_;
  std::atomic<int> count_{0};
  gen::PID pid_;
};

TEST_CASE("stash: returns to the front, in its order") {
  TestNode t;
  Shop shop(t);
  for (int i = 1; i <= 3; ++i) shop.Put(i);
  CHECK(shop.EventuallyStashed(3));
  kit::ThreadGate gate;
  t.Begin(shop.pid(), [enter = gate.Holder()](Subject&) { enter(); });
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Send(shop.pid(), Open{}));
  for (int i = 4; i <= 5; ++i) shop.Put(i);
  gate.Open();
  CHECK(shop.Handled(5) == Ids{1, 2, 3, 4, 5});
  CHECK(shop.unstashed == 3);
  CHECK(t.node.ProcessInfo(shop.pid())->messages_held == 0);
}

TEST_CASE("stash: in a mailbox by priority each comes before its equals") {
  TestNode t;
  Shop shop(t, {.mailbox = gen::Mailbox::Priority<Stashable>(
                    [](const Stashable& item) { return item.rank; })});
  shop.Put(1, 5);
  shop.Put(2, 1);
  shop.Put(3, 5);
  CHECK(shop.EventuallyStashed(3));
  CHECK(t.node.Suspend(shop.pid()));
  CHECK(t.node.Send(shop.pid(), Open{}));
  shop.Put(4, 5);
  shop.Put(5, 1);
  CHECK(t.node.Resume(shop.pid()));
  // Open has the number 0, and goes first.
  CHECK(shop.Handled(5) == Ids{2, 5, 1, 3, 4});
}

TEST_CASE("stash: requests are answered when their time comes, or are skipped when it is over") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  Shop shop(t);
  auto patient = t.node.CallAsync<int>(shop.pid(), Stashable{0, 1}, {.timeout = kit::kDeadline});
  auto hasty = t.node.CallAsync<int>(shop.pid(), Stashable{0, 2}, {.timeout = 1s});
  CHECK(shop.EventuallyStashed(2));
  time.Pass(2s);
  CHECK(hasty.get().error() == gen::ErrTimeout);
  CHECK(t.node.Send(shop.pid(), Open{}));
  CHECK(patient.get().value() == 1);
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_expired == 1; }));
  CHECK(shop.Handled(1) == Ids{1});
}

TEST_CASE("stash: a full one drops, counts and tells") {
  TestNode t;
  Shop shop(t, {.stash_size = 2});
  for (int i = 1; i <= 3; ++i) shop.Put(i);
  const auto refused = t.node.Call<int>(shop.pid(), Stashable{0, 4});
  CHECK(refused.error() == gen::ErrProcessMailboxFull);
  CHECK(refused.error().detail() == "the stash of " + shop.pid().ToString() + " is full");
  CHECK(kit::Eventually([&] { return shop.refused.load() == 2; }));
  CHECK(t.node.ProcessInfo(shop.pid())->messages_overflowed == 2);
  CHECK(t.node.Info().dropped_mailbox_full == 2);
  CHECK(t.node.Send(shop.pid(), Open{}));
  CHECK(shop.Handled(2) == Ids{1, 2});
}

TEST_CASE("stash: what is in it when its process ends is dropped, and callers are told") {
  TestNode t;
  Shop shop(t);
  shop.Put(1);
  auto answer = t.node.CallAsync<int>(shop.pid(), Stashable{0, 2}, {.timeout = gen::kInfinite});
  CHECK(shop.EventuallyStashed(2));
  CHECK(t.node.Send(shop.pid(), End{gen::Reason::Error("closed")}));
  CHECK(answer.get().error() == gen::ErrProcessTerminated);
  CHECK(t.Ended(shop.pid()));
  CHECK(kit::Eventually([&] { return t.node.Info().dropped_terminated == 2; }));
}

TEST_CASE("stash: only what is being handled can be stashed, and once") {
  TestNode t;
  std::vector<std::string> errors;
  const gen::PID pid = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
    auto note = [&](gen::Message& which) {
      try {
        (void)self.Stash(which);
        errors.push_back("none");
      } catch (const std::logic_error&) {
        errors.push_back("logic_error");
      }
    };
    note(message);
    note(message);
    auto other = core::MakeEnvelope<int>(0, core::Lane::kMain, 1);
    gen::Message stranger(*other);
    note(stranger);
    return gen::Continue();
  }});
  CHECK(t.node.Send(pid, Stashable{}));
  CHECK(kit::Eventually([&] { return t.node.ProcessInfo(pid)->messages_held == 1; }));
  CHECK(t.node.StopProcess(pid));
  CHECK(errors == std::vector<std::string>{"none", "logic_error", "logic_error"});
}

TEST_CASE("stash: what has been taken out of its message cannot be stashed") {
  std::atomic<int> refused{0};
  TestNode t;
  const gen::PID pid = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
    (void)message.Take<std::unique_ptr<int>>();
    CHECK_THROWS_WITH_AS(self.Stash(message), "Stash: the message's value has been taken out of it",
                         std::logic_error);
    ++refused;
    return gen::Continue();
  }});
  CHECK(t.node.Send(pid, std::make_unique<int>(7)));
  CHECK(kit::Eventually([&] { return refused == 1; }));
  CHECK(t.node.ProcessInfo(pid)->messages_held == 0);
}

TEST_CASE("stash: what has been forwarded cannot be stashed") {
  std::atomic<int> refused{0};
  TestNode t;
  Shop shop(t);
  const auto pass_on = [&](Subject& self, gen::Message& message) {
    self.Forward(shop.pid(), message).value();
    CHECK_THROWS_WITH_AS(self.Stash(message),
                         "Stash: only the message being handled, and not answered, can be stashed",
                         std::logic_error);
    refused.fetch_add(1);
  };
  const gen::PID pid = t.Spawn(
      {.message =
           [&](Subject& self, gen::PID, gen::Message& message) {
             pass_on(self, message);
             return gen::Continue();
           },
       .call = [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
         pass_on(self, request);
         return gen::NoReply();
       }});
  CHECK(t.node.Send(shop.pid(), Open{}));
  CHECK(t.node.Call<int>(pid, Stashable{0, 7}, {.timeout = kit::kDeadline}).value() == 7);
  CHECK(t.node.Send(pid, Stashable{0, 8}));
  CHECK(shop.Handled(2) == Ids{7, 8});
  CHECK(kit::Eventually([&] { return refused.load() == 2; }));
}

// Whether the handlers of a behaviour can put messages aside.
template <class Behavior>
struct Handler : Behavior {
  static constexpr bool CanStash() {
    return requires { std::declval<Handler&>().Stash(std::declval<gen::Message&>()); };
  }
  static constexpr bool CanUnstash() {
    return requires { std::declval<Handler&>().UnstashAll(); };
  }
};

TEST_CASE("stash: not in a pool, whose own messages would return as those of its workers") {
  CHECK(Handler<act::Actor>::CanStash());
  CHECK(Handler<act::Actor>::CanUnstash());
  CHECK_FALSE(Handler<act::Pool>::CanStash());
  CHECK_FALSE(Handler<act::Pool>::CanUnstash());
}

TEST_CASE("stash: a pool gives what a dead worker had stashed to the others") {
  class Picky : public act::Actor {
   public:
    Picky(std::atomic<int>* made, std::atomic<int>* handled)
        : is_first_(made->fetch_add(1) == 0), handled_(handled) {}

   private:
    gen::Status HandleMessage(gen::PID, gen::Message& message) override {
      if (message.Is<Stashable>() && is_first_) {
        Stash(message);
      } else if (message.Is<Stashable>()) {
        handled_->fetch_add(1);
      }
      return gen::Continue();
    }
    const bool is_first_;
    std::atomic<int>* const handled_;
  };
  std::atomic<int> made{0};
  std::atomic<int> handled{0};
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(
      act::PoolOptions{.pool_size = 1, .worker_factory = gen::Factory<Picky>(&made, &handled)});
  for (int i = 0; i < 5; ++i) CHECK(fixture.node.Send(pool.pid(), Stashable{0, i}));
  const gen::PID first = pool.Workers().front();
  CHECK(kit::Eventually([&] { return fixture.node.ProcessInfo(first)->messages_held == 5; }));
  CHECK(pool.Stats()["messages_queued"] == 5);
  CHECK(fixture.node.Kill(first));
  CHECK(kit::Eventually([&] { return handled.load() == 5; }));
  CHECK(pool.EventuallyAtRest());
  CHECK(pool.Stats()["messages_handled"] == 5);
}

}  // namespace
}  // namespace ergon::node
