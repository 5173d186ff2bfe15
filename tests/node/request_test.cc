#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <ergon/act/pool.h>
#include <ergon/node/process_state/unique_id.h>

#include <kit/manual_time.h>

#include "subject.h"

namespace ergon::node {
namespace {

// What came back, as texts: "value 4" or the error.
struct Outcomes {
  Notes<std::pair<gen::Ref, std::string>> notes;

  Handlers Into(Handlers handlers = {}) {
    handlers.response = [this](Subject&, gen::Ref ref, gen::Response& response) {
      auto value = response.Take<int>();
      notes.Add({ref, value ? "value " + std::to_string(*value) : value.error().ToString()});
      return gen::Continue();
    };
    return handlers;
  }
  [[nodiscard]] bool Eventually(std::size_t count) const {
    return kit::Eventually([&] { return notes.size() >= count; });
  }
  [[nodiscard]] std::string At(std::size_t index) const { return notes.All().at(index).second; }
};

Handlers Doubler() {
  return {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) {
    return gen::Reply(request.Take<Ask>().value * 2);
  }};
}
// Never answers.
Handlers Mute() {
  return {.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }};
}

gen::Result<gen::Ref> Request(TestNode& test, gen::PID asker, gen::PID to, int value,
                              gen::CallOptions options = {.timeout = kit::kDeadline}) {
  std::optional<gen::Result<gen::Ref>> ref;
  test.Run(asker, [&](Subject& self) { ref = self.Request(to, Ask{value}, options); }).value();
  return std::move(*ref);
}

TEST_CASE("request: the answer comes to HandleResponse with the ref, once") {
  Outcomes outcomes;
  TestNode test;
  const gen::PID doubler = test.Spawn(Doubler());
  const gen::PID asker = test.Spawn(outcomes.Into());
  const gen::Ref first = Request(test, asker, doubler, 2).value();
  const gen::Ref second = Request(test, asker, doubler, 21).value();
  CHECK(first != second);
  REQUIRE(outcomes.Eventually(2));
  CHECK(outcomes.notes.All().at(0) == std::pair(first, std::string("value 4")));
  CHECK(outcomes.notes.All().at(1) == std::pair(second, std::string("value 42")));
  CHECK(test.node.Info().timers == 0);
}

TEST_CASE("request: the asker handles other messages while it waits, and is not suspended") {
  Outcomes outcomes;
  TestNode test;
  const gen::PID mute = test.Spawn(Mute());
  const gen::PID asker = test.Spawn(outcomes.Into());
  Request(test, asker, mute, 1).value();
  CHECK(test.Run(asker, [](Subject&) {}).value());
  CHECK_FALSE(test.IsWaiting(asker));
  CHECK(test.node.Info().timers == 1);  // it still waits
}

TEST_CASE("request: errors that the process answers with, and answers of another type") {
  Outcomes outcomes;
  TestNode test;
  const gen::PID refuses = test.Spawn(
      {.call = [](Subject&, gen::PID, gen::Ref, gen::Message& request) -> gen::CallResult {
        if (request.As<Ask>()->value == 0) return gen::ReplyError(gen::Error("not today"));
        return gen::Reply("a text");
      }});
  const gen::PID asker = test.Spawn(outcomes.Into());
  Request(test, asker, refuses, 0).value();
  Request(test, asker, refuses, 1).value();
  REQUIRE(outcomes.Eventually(2));
  CHECK(outcomes.At(0) == "not today");
  CHECK(outcomes.At(1).find("asked for int, got") != std::string::npos);
}

TEST_CASE("request: what fails at once returns the error and nothing comes later") {
  Outcomes outcomes;
  TestNode test;
  const gen::PID asker = test.Spawn(outcomes.Into());
  const gen::PID gone = test.Spawn();
  test.node.Kill(gone).value();
  REQUIRE(test.Ended(gone));
  CHECK(Request(test, asker, gone, 1).error() == gen::ErrProcessTerminated);
  CHECK(Request(test, asker, gen::PID(), 1).error() == gen::ErrProcessUnknown);
  const auto wrong = Request(test, asker, asker, 1, {.timeout = 0ns});
  CHECK(wrong.error() == gen::ErrIncorrect);
  CHECK(wrong.error().detail() == "timeout: 0, has to be more than 0");
  const gen::PID full = test.Spawn(Mute(), {.mailbox_size = 1});
  std::atomic<bool> hold{true};
  test.Begin(full, [&](Subject&) { REQUIRE(kit::Eventually([&] { return !hold; })); });
  CHECK(kit::Eventually([&] { return test.node.ProcessInfo(full)->messages_queued == 0; }));
  CHECK(Request(test, asker, full, 1).has_value());
  CHECK(Request(test, asker, full, 2).error() == gen::ErrProcessMailboxFull);
  CHECK(test.node.Info().timers == 1);
  hold = false;
  CHECK(test.Run(asker, [](Subject&) {}).value());
  CHECK(outcomes.notes.size() == 0);
}

TEST_CASE("request: what could not be sent is given back") {
  struct Order {
    std::unique_ptr<int> number;
  };
  TestNode test;
  const gen::PID asker = test.Spawn();
  const gen::PID gone = test.Spawn();
  REQUIRE(test.node.Kill(gone));
  REQUIRE(test.Ended(gone));
  CHECK(test.Run(asker, [&](Subject& self) {
    Order order{std::make_unique<int>(7)};
    CHECK(self.Request(gone, std::move(order)).error() == gen::ErrProcessTerminated);
    REQUIRE(order.number != nullptr);  // NOLINT(bugprone-use-after-move)
    CHECK(self.Request("nobody", std::move(order)).error() == gen::ErrProcessUnknown);
    REQUIRE(order.number != nullptr);  // NOLINT(bugprone-use-after-move)
    CHECK(*order.number == 7);
    CHECK(self.Request(asker, std::move(order)));
    CHECK(order.number == nullptr);  // NOLINT(bugprone-use-after-move)
  }));
}

TEST_CASE("request: a callee that ends is told at once, with its reason") {
  Outcomes outcomes;
  TestNode test;
  const gen::PID asker = test.Spawn(outcomes.Into());
  SUBCASE("while it holds the request") {
    const gen::PID mute = test.Spawn(Mute());
    Request(test, asker, mute, 1).value();
    test.node.Send(mute, End{gen::Reason::Error("tired")}).value();
    REQUIRE(outcomes.Eventually(1));
    CHECK(outcomes.At(0) == "process terminated: tired");
  }
  SUBCASE("in the handler") {
    const gen::PID throws =
        test.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) -> gen::CallResult {
          throw std::runtime_error("out of paper");
        }});
    Request(test, asker, throws, 1).value();
    REQUIRE(outcomes.Eventually(1));
    CHECK(outcomes.At(0) == "process terminated: panic: out of paper (handling ergon::node::Ask)");
  }
  SUBCASE("before it got round to it") {
    const gen::PID ends = test.Spawn(Mute());
    std::atomic<bool> hold{true};
    test.Begin(ends, [&](Subject&) { REQUIRE(kit::Eventually([&] { return !hold; })); });
    Request(test, asker, ends, 1).value();
    test.node.Kill(ends).value();
    hold = false;
    REQUIRE(outcomes.Eventually(1));
    CHECK(outcomes.At(0) == "process terminated: killed");
  }
  CHECK(kit::Eventually([&] { return test.node.Info().timers == 0; }));
}

TEST_CASE("request: time runs out once, and a late answer is ignored") {
  const kit::ManualTime time;
  Outcomes outcomes;
  Notes<std::pair<gen::PID, gen::Ref>> asked;
  TestNode test(time.Into());
  const gen::PID mute = test.Spawn(
      {.call = [&](Subject&, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
        asked.Add({from, ref});
        return gen::NoReply();
      }});
  const gen::PID asker = test.Spawn(outcomes.Into());
  const gen::Ref ref = Request(test, asker, mute, 1, {.timeout = 1s}).value();
  REQUIRE(kit::Eventually([&] { return asked.size() == 1; }));
  time.Pass(2s);
  REQUIRE(outcomes.Eventually(1));
  CHECK(outcomes.At(0) == "timed out: the request was being handled");
  const auto [from, asked_ref] = asked.All().at(0);
  CHECK(from == asker);
  CHECK(asked_ref == ref);
  CHECK(test.node.SendResponse(from, ref, 7).error() == gen::ErrResponseIgnored);
  CHECK(test.Run(asker, [](Subject&) {}).value());
  CHECK(outcomes.notes.size() == 1);
}

TEST_CASE("request: the second answer is ignored") {
  Outcomes outcomes;
  Notes<std::string> second;
  TestNode test;
  const gen::PID twice = test.Spawn(
      {.call = [&](Subject& self, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
        self.SendResponse(from, ref, 1).value();
        second.Add(self.SendResponse(from, ref, 2).error().ToString());
        return gen::Reply(3);
      }});
  const gen::PID asker = test.Spawn(outcomes.Into());
  Request(test, asker, twice, 1).value();
  REQUIRE(outcomes.Eventually(1));
  REQUIRE(kit::Eventually([&] { return second.size() == 1; }));
  CHECK(second.All().at(0) == "response ignored");
  CHECK(test.Run(twice, [](Subject&) {}).value());
  CHECK(test.Run(asker, [](Subject&) {}).value());
  CHECK(outcomes.notes.size() == 1);
  CHECK(outcomes.At(0) == "value 1");
}

TEST_CASE("request: a process may ask itself, and ask in Init") {
  Outcomes outcomes;
  TestNode test;
  Handlers handlers = outcomes.Into(Doubler());
  handlers.init = [](Subject& self, const gen::Args&) {
    CHECK(self.Request(self.Self(), Ask{4}).has_value());
    return gen::Continue();
  };
  test.Spawn(std::move(handlers));
  REQUIRE(outcomes.Eventually(1));
  CHECK(outcomes.At(0) == "value 8");
}

TEST_CASE("request: an asker that ends forgets its requests, and its slot's next process too") {
  Outcomes outcomes;
  Notes<std::pair<gen::PID, gen::Ref>> asked;
  TestNode test;
  const gen::PID mute = test.Spawn(
      {.call = [&](Subject&, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
        asked.Add({from, ref});
        return gen::NoReply();
      }});
  const gen::PID asker = test.Spawn();
  for (int i = 0; i < 10; ++i) Request(test, asker, mute, i).value();
  REQUIRE(kit::Eventually([&] { return asked.size() == 10; }));
  CHECK(test.node.Info().timers == 10);
  test.node.Kill(asker).value();
  REQUIRE(test.Ended(asker));
  CHECK(test.node.Info().timers == 0);
  gen::PID later;
  do {  // until it gets the same slot
    if (later) test.node.Kill(later).value();
    later = test.Spawn(outcomes.Into());
  } while (static_cast<std::uint32_t>(later.id) != static_cast<std::uint32_t>(asker.id));
  for (const auto& [from, ref] : asked.All()) {
    CHECK(test.node.SendResponse(from, ref, 1).error() == gen::ErrResponseIgnored);
    CHECK(test.node.SendResponse(later, ref, 1).error() == gen::ErrResponseIgnored);
  }
  CHECK(test.Run(later, [](Subject&) {}).value());
  CHECK(outcomes.notes.size() == 0);
}

TEST_CASE("request: the refs of others cannot be guessed") {
  Outcomes outcomes;
  TestNode test;
  const gen::PID mute = test.Spawn(Mute());
  const gen::PID asker = test.Spawn(outcomes.Into());
  const gen::PID forger = test.Spawn();
  const gen::Ref mine = Request(test, asker, mute, 1).value();
  test.Run(forger,
           [&](Subject& self) {
             // From refs of its own, which were made on the same thread just before and after.
             for (const gen::Ref known : {self.Request(mute, Ask{1}).value(), self.MakeRef()}) {
               for (std::uint64_t step = 1; step < 5000; ++step) {
                 for (const std::uint64_t id : {known.id + step, known.id - step}) {
                   const gen::Ref guess{id | kRequestIdBit, known.node, known.creation};
                   if (guess == mine) continue;
                   CHECK(self.SendResponse(asker, guess, 666).error() == gen::ErrResponseIgnored);
                 }
               }
             }
           })
      .value();
  CHECK(outcomes.notes.size() == 0);
}

TEST_CASE("request: ids are different and marked") {
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 10'000; ++i) {
    ids.insert(NextRequestId());
    REQUIRE_FALSE(IsRequestId(NextUniqueId()));
  }
  CHECK(ids.size() == 10'000);
  for (const std::uint64_t id : ids) REQUIRE(IsRequestId(id));
  // Neighbours in order of creation are not neighbours in value.
  CHECK(*ids.rbegin() - *ids.begin() > std::uint64_t{1} << 56);
}

TEST_CASE("request: a hundred thousand open at once") {
  const int count = kit::Scaled(100'000);
  std::atomic<int> answers{0};
  std::atomic<std::int64_t> sum{0};
  TestNode test;
  std::vector<std::pair<gen::PID, gen::Ref>> asked;  // the mute's own
  const gen::PID mute = test.Spawn(
      {.message =
           [&](Subject& self, gen::PID, gen::Message&) {
             for (const auto& [from, ref] : asked) self.SendResponse(from, ref, 1).value();
             return gen::Continue();
           },
       .call = [&](Subject&, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
         asked.emplace_back(from, ref);
         return gen::NoReply();
       }});
  const gen::PID asker = test.Spawn({.response = [&](Subject&, gen::Ref, gen::Response& response) {
    sum += response.Take<int>().value();
    ++answers;
    return gen::Continue();
  }});
  test.Run(asker,
           [&](Subject& self) {
             for (int i = 0; i < count; ++i) self.Request(mute, Ask{i}, {.timeout = 1h}).value();
           })
      .value();
  CHECK(test.Run(mute, [](Subject&) {}).value());
  CHECK(test.node.Info().timers == static_cast<std::size_t>(count));
  test.node.Send(mute, Ask{}).value();
  CHECK(kit::Eventually([&] { return answers == count; }));
  CHECK(sum == count);
  CHECK(test.node.Info().timers == 0);
}

TEST_CASE("request: to a pool is answered by a worker, and a pool may ask others") {
  Outcomes outcomes;
  TestNode test;
  class Asks : public act::Pool {
   public:
    Asks(Outcomes* outcomes, gen::PID doubler) : outcomes_(outcomes), doubler_(doubler) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 2, .worker_factory = Make(Doubler())};
    }
    gen::Status HandleMessage(gen::PID, gen::Message& message) override {
      Request(doubler_, message.Take<Ask>()).value();
      return gen::Continue();
    }
    gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override {
      outcomes_->notes.Add({ref, "pool " + std::to_string(response.Take<int>().value())});
      return gen::Continue();
    }
    Outcomes* outcomes_;
    gen::PID doubler_;
  };
  const gen::PID pool =
      test.node.Spawn(gen::Factory<Asks>(&outcomes, test.Spawn(Doubler()))).value();
  const gen::PID asker = test.Spawn(outcomes.Into());
  Request(test, asker, pool, 5).value();
  REQUIRE(outcomes.Eventually(1));
  CHECK(outcomes.At(0) == "value 10");
  test.node.SendWithPriority(pool, Ask{50}, gen::MessagePriority::kHigh).value();
  REQUIRE(outcomes.Eventually(2));
  CHECK(outcomes.At(1) == "pool 100");
}

TEST_CASE("request: a list of open requests does not grow by what others have answered") {
  // The callee hands each request to a helper; it must not keep the refs of those for ever.
  Outcomes outcomes;
  TestNode test;
  const gen::PID helper =
      test.Spawn({.message = [](Subject& self, gen::PID, gen::Message& message) {
        auto [from, ref] = message.Take<std::pair<gen::PID, gen::Ref>>();
        self.SendResponse(from, ref, 1).value();
        return gen::Continue();
      }});
  const gen::PID delegates = test.Spawn(
      {.call = [&](Subject& self, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
        self.Send(helper, std::pair(from, ref)).value();
        return gen::NoReply();
      }});
  const gen::PID asker = test.Spawn(outcomes.Into());
  constexpr std::size_t kCount = 500;
  for (std::size_t i = 0; i < kCount; ++i) Request(test, asker, delegates, 1).value();
  REQUIRE(outcomes.Eventually(kCount));
  // Nobody gets a second answer when it ends.
  test.node.Kill(delegates).value();
  REQUIRE(test.Ended(delegates));
  CHECK(test.Run(asker, [](Subject&) {}).value());
  CHECK(outcomes.notes.size() == kCount);
}

TEST_CASE("request: what nobody looks at is logged at debug level") {
  TestNode test({.log_level = gen::LogLevel::kDebug});
  const gen::PID asker = test.Spawn();
  Request(test, asker, test.Spawn(Doubler()), 5).value();
  CHECK(kit::Eventually([&] { return test.log.Contains("unhandled answer Ref#<"); }));
}

}  // namespace
}  // namespace ergon::node
