#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/node/process_state/slot.h>

#include <kit/gate.h>

#include "subject.h"

namespace ergon::node {
namespace {

struct Got {
  gen::PID from;
  int value;
};

// Notes what it gets; answers requests with ten times the value.
Handlers Notes10(Notes<Got>& notes) {
  return {.message =
              [&notes](Subject&, gen::PID from, gen::Message& message) {
                notes.Add({from, message.Take<Ask>().value});
                return gen::Continue();
              },
          .call =
              [&notes](Subject&, gen::PID from, gen::Ref, gen::Message& request) {
                const int value = request.Take<Ask>().value;
                notes.Add({from, value});
                return gen::Reply(10 * value);
              }};
}

// Passes on what it gets.
Handlers PassesTo(gen::PID to) {
  return {.message =
              [to](Subject& self, gen::PID, gen::Message& message) {
                self.Forward(to, message).value();
                CHECK_FALSE(message);
                CHECK(message.As<Ask>() == nullptr);
                return gen::Continue();
              },
          .call = [to](Subject& self, gen::PID, gen::Ref,
                       gen::Message& request) { return self.Delegate(to, request); }};
}

TEST_CASE("forward: a message keeps its sender") {
  Notes<Got> notes;
  TestNode test;
  const gen::PID sender = test.Spawn();
  const gen::PID passes = test.Spawn(PassesTo(test.Spawn(Notes10(notes))));
  test.Run(sender, [&](Subject& self) { self.Send(passes, Ask{3}).value(); }).value();
  REQUIRE(kit::Eventually([&] { return notes.size() == 1; }));
  CHECK(notes.All().at(0).from == sender);
  CHECK(notes.All().at(0).value == 3);
}

TEST_CASE("forward: a request is answered by the one it was forwarded to, however far") {
  Notes<Got> notes;
  TestNode test;
  gen::PID at = test.Spawn(Notes10(notes));
  for (int i = 0; i < 5; ++i) at = test.Spawn(PassesTo(at));
  const gen::PID sender = test.Spawn();
  test.Run(sender, [&](Subject& self) { CHECK(self.Call<int>(at, Ask{4}).value() == 40); }).value();
  CHECK(notes.All().at(0).from == sender);
  CHECK(test.node.Call<int>(at, Ask{5}).value() == 50);  // from outside
}

TEST_CASE("forward: the caller is told when the new receiver ends, also if the old one lives") {
  TestNode test;
  const gen::PID mute = test.Spawn(
      {.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  const gen::PID passes = test.Spawn(PassesTo(mute));
  auto answer = test.node.CallAsync<int>(passes, Ask{1}, {.timeout = kit::kDeadline});
  CHECK(test.Run(passes, [](Subject&) {}).value());
  SUBCASE("") { test.node.Kill(passes).value(); }  // does not matter any more
  SUBCASE("") {}
  test.node.Send(mute, End{gen::Reason::Error("done for")}).value();
  CHECK(answer.get().error().ToString() == "process terminated: done for");
}

TEST_CASE("forward: after an error the message is still here") {
  Notes<std::string> notes;
  Notes<Got> seen;
  TestNode test;
  const gen::PID gone = test.Spawn();
  test.node.Kill(gone).value();
  REQUIRE(test.Ended(gone));
  const gen::PID other = test.Spawn(Notes10(seen));
  const gen::PID tries = test.Spawn(
      {.message =
           [&](Subject& self, gen::PID, gen::Message& message) {
             notes.Add(self.Forward(gone, message).error().ToString());
             notes.Add(self.Forward("nobody", message).error().ToString());
             REQUIRE(message);
             notes.Add(std::to_string(message.As<Ask>()->value));
             self.Forward(other, message).value();
             return gen::Continue();
           },
       .call = [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
         auto sent = self.Forward(gone, request);
         CHECK_FALSE(sent);
         return gen::Reply(request.As<Ask>()->value);
       }});
  test.node.Send(tries, Ask{7}).value();
  REQUIRE(kit::Eventually([&] { return seen.size() == 1; }));
  CHECK(notes.All().at(0) == "process terminated");
  CHECK(notes.All().at(1).find("process is unknown") == 0);
  CHECK(notes.All().at(2) == "7");
  CHECK(test.node.Call<int>(tries, Ask{8}).value() == 8);
  // Delegate tells the caller.
  const gen::PID delegates = test.Spawn(PassesTo(gone));
  CHECK(test.node.Call<int>(delegates, Ask{1}).error() == gen::ErrProcessTerminated);
}

TEST_CASE(
    "forward: who has tried it in vain still holds the request, and closes a circle of calls") {
  TestNode test;
  const gen::PID gone = test.Spawn();
  test.node.Kill(gone).value();
  REQUIRE(test.Ended(gone));
  const gen::PID caller = test.Spawn();
  std::atomic<bool> is_told{false};
  const gen::PID tries = test.Spawn({.call = [&](Subject& self, gen::PID, gen::Ref,
                                                 gen::Message& request) -> gen::CallResult {
    CHECK_FALSE(self.Forward(gone, request));
    is_told = self.Call<bool>(caller, Do{[](Subject&) {}}, {.timeout = gen::kInfinite}).error() ==
              gen::ErrDeadlock;
    return gen::Reply(1);
  }});
  CHECK(test.Run(caller, [&](Subject& self) { (void)self.Call<int>(tries, Ask{1}, kPatient); }));
  CHECK(is_told);
}

TEST_CASE("forward: not twice, not what was taken or answered, no notices") {
  Notes<Got> seen;
  Notes<std::string> problems;
  TestNode test;
  const gen::PID other = test.Spawn(Notes10(seen));
  const auto forward = [&](Subject& self, gen::Message& message) {
    auto sent = self.Forward(other, message);
    REQUIRE_FALSE(sent);
    CHECK(sent.error() == gen::ErrNotAllowed);
    problems.Add(std::string(sent.error().detail()));
  };
  const gen::PID tries = test.Spawn({.message =
                                         [&](Subject& self, gen::PID, gen::Message& message) {
                                           if (message.Is<Ask>()) {
                                             self.Forward(other, message).value();
                                           } else if (message.Is<std::string>()) {
                                             CHECK(message.Take<std::string>() == "take me");
                                           }
                                           forward(self, message);
                                           return gen::Continue();
                                         },
                                     .call = [&](Subject& self, gen::PID from, gen::Ref ref,
                                                 gen::Message& request) -> gen::CallResult {
                                       self.SendResponse(from, ref, 1).value();
                                       forward(self, request);
                                       return gen::NoReply();
                                     }});
  test.node.Send(tries, Ask{1}).value();
  test.node.Send(tries, "take me").value();
  CHECK(test.node.Call<int>(tries, Ask{1}).value() == 1);
  const gen::PID watched = test.Spawn();
  test.Run(tries, [&](Subject& self) { self.Monitor(watched).value(); }).value();
  test.node.Kill(watched).value();
  REQUIRE(kit::Eventually([&] { return problems.size() == 4; }));
  CHECK(problems.All().at(0) == "the message has been forwarded already");
  CHECK(problems.All().at(1) == "the message's value has been taken out of it");
  CHECK(problems.All().at(2) == "the request has been answered");
  CHECK(problems.All().at(3) == "notices and exit signals are for this process only");
}

TEST_CASE("forward: a handler that ends after it has forwarded leaves the request to the other") {
  Notes<Got> seen;
  TestNode test;
  const gen::PID other = test.Spawn(Notes10(seen));
  const gen::PID passes = test.Spawn(
      {.call = [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        self.Forward(other, request).value();
        throw std::runtime_error("afterwards");
      }});
  CHECK(test.node.Call<int>(passes, Ask{2}, {.timeout = kit::kDeadline}).value() == 20);
  CHECK(test.Ended(passes));
}

TEST_CASE("forward: for the pool a worker that has forwarded has handled the message") {
  Notes<Got> seen;
  TestNode test;
  class Passes : public act::Pool {
   public:
    explicit Passes(gen::PID to) : to_(to) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 2, .worker_factory = Make(PassesTo(to_))};
    }
    // Ends while it forwards.
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
      Forward(to_, request).value();
      return gen::Stop(gen::Reason::Normal());
    }
    gen::PID to_;
  };
  const gen::PID other = test.Spawn(Notes10(seen));
  const gen::PID pool = test.node.Spawn(gen::Factory<Passes>(other)).value();
  for (int i = 0; i < 10; ++i) test.node.Send(pool, Ask{i}).value();
  CHECK(test.node.Call<int>(pool, Ask{4}).value() == 40);
  REQUIRE(kit::Eventually([&] { return seen.size() == 11; }));
  CHECK(kit::Eventually([&] {
    auto figures = test.node.Inspect(pool).value();
    return figures["messages_handled"] == "11" && figures["messages_forwarded"] == "11" &&
           figures["messages_queued"] == "0" && figures["messages_lost"] == "0";
  }));
  CHECK(test.node
            .Call<int>(pool, Ask{5},
                       {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kHigh})
            .value() == 50);
  CHECK(test.Ended(pool));
}

TEST_CASE("forward: what nobody has taken can be stashed, and is handled afterwards") {
  Notes<int> notes;
  std::atomic<int> refused{0};
  gen::PID full;
  TestNode test({.workers = 2});
  kit::ThreadGate gate;  // opens before the node ends
  // What it cannot pass on waits until it gets a 0.
  const auto take = [&](Subject& self, gen::Message& message) {
    const int value = message.As<Ask>()->value;
    if (value != 0 && refused < 2) {
      CHECK(self.Forward(full, message).error() == gen::ErrProcessMailboxFull);
      CHECK(self.Stash(message));
      ++refused;
      return false;
    }
    notes.Add(value);
    if (value == 0) CHECK(self.UnstashAll() == 2);
    return true;
  };
  const gen::PID passes = test.Spawn(
      {.message =
           [&](Subject& self, gen::PID, gen::Message& message) {
             (void)take(self, message);
             return gen::Continue();
           },
       .call = [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
         if (!take(self, request)) return gen::NoReply();
         return gen::Reply(30);
       }});
  // In a place that others have had: whoever refuses a message has looked at it as at one for the process there.
  for (;;) {
    full = test.Spawn({.message =
                           [hold = gate.Holder()](Subject&, gen::PID, gen::Message&) {
                             hold();
                             return gen::Continue();
                           }},
                      {.mailbox_size = 1});
    if (GenerationOf(full) != GenerationOf(passes)) break;
    CHECK(test.node.Kill(full));
    REQUIRE(test.Ended(full));
  }
  CHECK(test.node.Send(full, Ask{1}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(test.node.Send(full, Ask{2}));

  CHECK(test.node.Send(passes, Ask{2}));
  auto answer =
      std::async(std::launch::async, [&] { return test.node.Call<int>(passes, Ask{3}, kPatient); });
  REQUIRE(kit::Eventually([&] { return refused == 2; }));
  CHECK(test.node.Send(passes, Ask{0}));
  CHECK(answer.get().value() == 30);
  CHECK(notes.All() == std::vector{0, 2, 3});
  gate.Open();
}

}  // namespace
}  // namespace ergon::node
