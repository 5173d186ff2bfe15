#include <ergon/act/serializer.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/node/process_state/unique_id.h>

#include <kit/manual_time.h>

#include "subject.h"

namespace ergon::node {
namespace {

struct Remark {
  int value = 0;
};

// A service that does as it is told; a request is inside until Answer() is called.
struct Service {
  Notes<int> entered;  // requests and messages, in order
  Notes<std::pair<gen::PID, gen::Ref>> open;
  Notes<gen::PID> pids;

  Handlers Into() {
    return {.init =
                [this](Subject& self, const gen::Args&) {
                  pids.Add(self.Self());
                  return gen::Continue();
                },
            .message =
                [this](Subject&, gen::PID, gen::Message& message) {
                  entered.Add(message.Take<Remark>().value);
                  return gen::Continue();
                },
            .call = [this](Subject&, gen::PID from, gen::Ref ref,
                           gen::Message& request) -> gen::CallResult {
              open.Add({from, ref});  // first: who has entered can be answered
              entered.Add(request.Take<Ask>().value);
              return gen::NoReply();
            }};
  }
  [[nodiscard]] bool Eventually(std::vector<int> wanted) const {
    return kit::Eventually([&] { return entered.All() == wanted; });
  }
  // Answers the request that entered as the nth.
  gen::Result<void> Answer(TestNode& test, std::size_t nth, int value) const {
    REQUIRE(kit::Eventually([&] { return open.size() > nth; }));
    const auto [from, ref] = open.All().at(nth);
    return test.node.SendResponse(from, ref, value);
  }
};

gen::PID SpawnSerializer(TestNode& test, Service& service, act::SerializerOptions options = {}) {
  return test.node.Spawn(act::Serializer::Of(Make(service.Into()), std::move(options))).value();
}
std::future<gen::Result<int>> Begin(TestNode& test, gen::PID to, int value,
                                    const gen::CallOptions& options = kPatient) {
  return test.node.CallAsync<int>(to, Ask{value}, options);
}
std::string Key(TestNode& test, gen::PID pid, const std::string& key) {
  return test.node.Inspect(pid, {key}, kPatient).value().at(key);
}

TEST_CASE("serializer: the service is spawned with options of its own") {
  Service service;
  TestNode test;
  const gen::PID serializer =
      SpawnSerializer(test, service, {.service_options = {.mailbox_size = 7}});
  REQUIRE(service.pids.size() == 1);
  const auto info = test.node.ProcessInfo(service.pids.All()[0]);
  REQUIRE(info);
  CHECK(info->mailbox_size == 7);
  CHECK(info->links == std::vector<gen::PID>{serializer});
  CHECK(test.node.ProcessInfo(serializer)->mailbox_size == 0);
}

TEST_CASE("serializer: without max_waiting its mailbox has the bound of the spawn") {
  Service service;
  TestNode test;
  const auto size = [&](act::SerializerOptions options) {
    const auto factory = act::Serializer::Of(Make(service.Into()), std::move(options));
    const gen::PID pid = test.node.Spawn(factory, {.mailbox_size = 3}).value();
    return test.node.ProcessInfo(pid)->mailbox_size;
  };
  CHECK(size({}) == 3);
  CHECK(size({.max_waiting = 2}) == 2);
}

TEST_CASE("serializer: one request is inside until it is answered, first come first served") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  std::vector<std::future<gen::Result<int>>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(Begin(test, pid, i));
  for (int i = 0; i < 20; ++i) {
    REQUIRE(kit::Eventually([&] { return service.entered.size() == std::size_t(i) + 1; }));
    CHECK(service.entered.All().back() == i);
    CHECK(kit::Eventually([&] { return Key(test, pid, "waiting") == std::to_string(19 - i); }));
    CHECK(service.open.size() == std::size_t(i) + 1);
    CHECK(service.open.All().back().first == pid);
    service.Answer(test, static_cast<std::size_t>(i), 100 + i).value();
    CHECK(answers[static_cast<std::size_t>(i)].get().value() == 100 + i);
  }
  CHECK(Key(test, pid, "requests_answered") == "20");
}

TEST_CASE("serializer: a helper may answer, a forger may not") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  auto first = Begin(test, pid, 1);
  auto second = Begin(test, pid, 2);
  REQUIRE(service.Eventually({1}));
  const gen::PID forger = test.Spawn();
  test.Run(forger,
           [&](Subject& self) {
             const gen::Ref mine = self.Request(forger, Ask{}).value();
             for (std::uint64_t step = 1; step < 2000; ++step) {
               for (const std::uint64_t id :
                    {mine.id + step, mine.id - step, kRequestIdBit | step, step}) {
                 const gen::Ref guess{id, mine.node, mine.creation};
                 CHECK(self.SendResponse(pid, guess, 666).error() == gen::ErrResponseIgnored);
               }
             }
             // Nor a message that looks like an answer.
             CHECK(self.SendWithPriority(pid, Remark{666}, gen::MessagePriority::kHigh));
           })
      .value();
  CHECK(Key(test, pid, "inside") == "1");
  CHECK(service.open.size() == 1);
  const auto [from, ref] = service.open.All().at(0);
  test.Run(forger,
           [&, from = from, ref = ref](Subject& self) {  // now it has been handed the ref
             CHECK(self.SendResponse(from, ref, 7));
             CHECK(self.SendResponse(from, ref, 8).error() == gen::ErrResponseIgnored);
           })
      .value();
  CHECK(first.get().value() == 7);
  service.Answer(test, 1, 2).value();
  CHECK(second.get().value() == 2);
}

TEST_CASE("serializer: messages keep their place and do not wait for an answer") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  test.node.Send(pid, Remark{1}).value();
  auto first = Begin(test, pid, 2);
  test.node.Send(pid, Remark{3}).value();
  auto second = Begin(test, pid, 4);
  test.node.Send(pid, Remark{5}).value();
  REQUIRE(service.Eventually({1, 2}));
  service.Answer(test, 0, 0).value();
  REQUIRE(service.Eventually({1, 2, 3, 4}));
  service.Answer(test, 1, 0).value();
  REQUIRE(service.Eventually({1, 2, 3, 4, 5}));
}

TEST_CASE("serializer: the end of the service is told to all callers at once, and ends it too") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  std::vector<std::future<gen::Result<int>>> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(Begin(test, pid, i));
  REQUIRE(service.Eventually({0}));
  std::string why;
  gen::Reason seen;
  const gen::PID watcher = test.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    seen = message.Take<gen::MessageDownPID>().reason;
    return gen::Stop(gen::Reason::Normal());
  }});
  test.Run(watcher, [&](Subject& self) { self.Monitor(pid).value(); }).value();
  const gen::PID child = service.pids.All().at(0);
  SUBCASE("failure") {
    why = "panic: crash (handling ergon::node::Do)";
    test.Begin(child, [](Subject&) { throw std::runtime_error("crash"); });
  }
  SUBCASE("normal") {
    why = "normal";
    test.node.Send(child, End{}).value();
  }
  SUBCASE("killed") {
    why = "killed";
    test.node.Kill(child).value();
  }
  for (auto& answer : answers)
    CHECK(answer.get().error().ToString() == "process terminated: " + why);
  CHECK(test.Ended(pid));
  CHECK(test.Ended(watcher));
  CHECK(seen.ToString() == why);
}

TEST_CASE("serializer: its own end is the end of the service, and told to all callers") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  std::vector<std::future<gen::Result<int>>> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(Begin(test, pid, i));
  REQUIRE(service.Eventually({0}));
  const gen::PID child = service.pids.All().at(0);
  SUBCASE("killed") { test.node.Kill(pid).value(); }
  SUBCASE("exit") { test.node.SendExit(pid, gen::Reason::Error("stop it")).value(); }
  for (auto& answer : answers) CHECK(answer.get().error() == gen::ErrProcessTerminated);
  CHECK(test.Ended(pid));
  CHECK(test.Ended(child));
}

TEST_CASE("serializer: stopped after its queue it finishes what has come before") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  auto first = Begin(test, pid, 1);
  auto second = Begin(test, pid, 2);
  REQUIRE(service.Eventually({1}));
  auto stopped =
      std::async(std::launch::async, [&] { return test.node.StopProcess(pid, kit::kDeadline); });
  REQUIRE(kit::Eventually([&] { return Key(test, pid, "waiting") == "2"; }));
  test.node.Send(service.pids.All().at(0), Remark{9}).value();
  service.Answer(test, 0, 10).value();
  CHECK(first.get().value() == 10);
  service.Answer(test, 1, 20).value();
  CHECK(second.get().value() == 20);
  CHECK(stopped.get().has_value());
  CHECK(service.entered.All() == std::vector{1, 9, 2});
  CHECK_FALSE(test.IsAlive(service.pids.All().at(0)));
}

TEST_CASE("serializer: a caller that has given up while it waited does not enter") {
  const kit::ManualTime time;
  Service service;
  TestNode test(time.Into());
  const gen::PID pid = SpawnSerializer(test, service);
  auto first = Begin(test, pid, 1);
  REQUIRE(service.Eventually({1}));
  auto second = Begin(test, pid, 2, {.timeout = 1s});
  auto third = Begin(test, pid, 3);
  time.Pass(2s);
  CHECK(second.get().error() == gen::ErrTimeout);
  service.Answer(test, 0, 0).value();
  REQUIRE(service.Eventually({1, 3}));
  service.Answer(test, 1, 33).value();
  CHECK(third.get().value() == 33);
}

TEST_CASE("serializer: a request whose caller has given up inside holds it until it is answered") {
  const kit::ManualTime time;
  Service service;
  TestNode test(time.Into());
  const gen::PID pid = SpawnSerializer(test, service);
  auto first = Begin(test, pid, 1, {.timeout = 1s});
  REQUIRE(service.Eventually({1}));
  auto second = Begin(test, pid, 2);
  time.Pass(2s);
  CHECK(first.get().error() == gen::ErrTimeout);
  CHECK(Key(test, pid, "inside") == "1");
  CHECK(Key(test, pid, "waiting") == "1");
  CHECK(service.open.size() == 1);
  service.Answer(test, 0, 0).value();
  REQUIRE(service.Eventually({1, 2}));
  service.Answer(test, 1, 22).value();
  CHECK(second.get().value() == 22);
}

TEST_CASE("serializer: a request that expires on its way to a busy service is skipped there") {
  const kit::ManualTime time;
  Service service;
  TestNode test(time.Into());
  const gen::PID pid = SpawnSerializer(test, service);
  std::atomic<bool> hold{true};
  test.Begin(service.pids.All().at(0),
             [&](Subject&) { REQUIRE(kit::Eventually([&] { return !hold; })); });
  auto first = Begin(test, pid, 1, {.timeout = 1s});
  auto second = Begin(test, pid, 2);
  CHECK(kit::Eventually([&] { return Key(test, pid, "inside") == "1"; }));
  time.Pass(2s);
  CHECK(first.get().error() == gen::ErrTimeout);
  hold = false;
  REQUIRE(service.Eventually({2}));
  service.Answer(test, 0, 22).value();
  CHECK(second.get().value() == 22);
}

TEST_CASE("serializer: a service that never answers loses its request after service_timeout") {
  const kit::ManualTime time;
  Service service;
  TestNode test(time.Into());
  const gen::PID pid = SpawnSerializer(test, service, {.service_timeout = 1s});
  auto first = Begin(test, pid, 1);
  REQUIRE(service.Eventually({1}));
  CHECK(kit::Eventually([&] { return Key(test, pid, "inside") == "1"; }));
  time.Pass(2s);
  CHECK(first.get().error() == gen::ErrTimeout);
  auto second = Begin(test, pid, 2);
  REQUIRE(service.Eventually({1, 2}));
  CHECK(service.Answer(test, 0, 0).error() == gen::ErrResponseIgnored);
  service.Answer(test, 1, 22).value();
  CHECK(second.get().value() == 22);
  CHECK(Key(test, pid, "service_timeouts") == "1");
}

TEST_CASE("serializer: a full line refuses calls and sends at once") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service, {.max_waiting = 2});
  auto first = Begin(test, pid, 1);
  REQUIRE(service.Eventually({1}));
  auto second = Begin(test, pid, 2);
  auto third = Begin(test, pid, 3);
  CHECK(Begin(test, pid, 4).get().error() == gen::ErrProcessMailboxFull);
  CHECK(test.node.Send(pid, Remark{5}).error() == gen::ErrProcessMailboxFull);
  CHECK(Key(test, pid, "waiting") == "2");
  service.Answer(test, 0, 0).value();
  REQUIRE(service.Eventually({1, 2}));
  CHECK(test.node.Send(pid, Remark{5}));
  service.Answer(test, 1, 0).value();
  service.Answer(test, 2, 0).value();
  REQUIRE(service.Eventually({1, 2, 3, 5}));
}

TEST_CASE("serializer: max priority goes past the line while a request is inside") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  auto first = Begin(test, pid, 1);
  REQUIRE(service.Eventually({1}));
  test.node.Send(pid, Remark{2}).value();
  test.node.SendWithPriority(pid, Remark{3}, gen::MessagePriority::kMax).value();
  REQUIRE(service.Eventually({1, 3}));
  auto urgent =
      Begin(test, pid, 4, {.timeout = kit::kDeadline, .priority = gen::MessagePriority::kMax});
  REQUIRE(service.Eventually({1, 3, 4}));
  service.Answer(test, 1, 44).value();
  CHECK(urgent.get().value() == 44);
  service.Answer(test, 0, 0).value();
  REQUIRE(service.Eventually({1, 3, 4, 2}));
}

TEST_CASE("serializer: a group that shares an invariant, called by many") {
  // Two cells that must stay equal; the service reads and writes them in separate calls.
  struct Cell : act::Actor {
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
      if (auto* add = request.As<Ask>()) value += add->value;
      return gen::Reply(value);
    }
    int value = 0;
  };
  class Pair : public act::Actor {
    gen::Status Init(const gen::Args& args) override {
      CHECK(args.Get<int>(0).value() == 5);  // those of the spawn
      left_ = Spawn(gen::Factory<Cell>(), {.link_parent = true}).value();
      right_ = Spawn(gen::Factory<Cell>(), {.link_parent = true}).value();
      return gen::Continue();
    }
    gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
      auto ask = request.Take<Ask>();
      const int left = Call<int>(left_, ask).value();
      Yield();
      const int right = Call<int>(right_, ask).value();
      return gen::Reply(left - right);
    }
    gen::PID left_, right_;
  };
  TestNode test;
  const gen::PID pid =
      test.node.Spawn(act::Serializer::Of(gen::Factory<Pair>()), {}, gen::MakeArgs(5)).value();
  constexpr int kCallers = 8;
  const int calls = kit::Scaled(2'000);
  std::atomic<int> done{0};
  std::atomic<int> wrong{0};
  std::vector<gen::PID> callers;
  for (int i = 0; i < kCallers; ++i) callers.push_back(test.Spawn());
  for (const gen::PID caller : callers) {
    test.Begin(caller, [&](Subject& self) {
      for (int i = 0; i < calls; ++i) {
        if (self.Call<int>(pid, Ask{1}, kPatient).value() != 0) ++wrong;
      }
      ++done;
    });
  }
  CHECK(kit::Eventually([&] { return done == kCallers; }));
  CHECK(wrong == 0);
  CHECK(Key(test, pid, "requests_answered") == std::to_string(kCallers * calls));
}

TEST_CASE("serializer: as the worker of a pool it loses no count") {
  Service service;
  TestNode test;
  class Serializers : public act::Pool {
   public:
    explicit Serializers(gen::ProcessFactory service) : service_(std::move(service)) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1, .worker_factory = act::Serializer::Of(service_)};
    }
    gen::ProcessFactory service_;
  };
  const gen::PID pool = test.node.Spawn(gen::Factory<Serializers>(Make(service.Into()))).value();
  auto first = Begin(test, pool, 1);
  test.node.Send(pool, Remark{2}).value();
  REQUIRE(service.Eventually({1}));
  service.Answer(test, 0, 11).value();
  CHECK(first.get().value() == 11);
  REQUIRE(service.Eventually({1, 2}));
  CHECK(kit::Eventually([&] {
    auto figures = test.node.Inspect(pool).value();
    return figures["messages_handled"] == "2" && figures["messages_forwarded"] == "2" &&
           figures["messages_queued"] == "0" && figures["messages_lost"] == "0";
  }));
}

TEST_CASE("serializer: wrong options fail the spawn and are named") {
  Service service;
  TestNode test;
  auto spawned = test.node.Spawn(act::Serializer::Of(Make(service.Into()), {.max_waiting = -1}));
  CHECK(spawned.error() == gen::ErrProcessTerminated);
  CHECK(spawned.error().detail() == "max_waiting: -1 is outside 0..4000000");
  auto failing = test.node.Spawn(
      act::Serializer::Of(Make({.init = [](Subject&, const gen::Args&) -> gen::Status {
        return gen::Stop(gen::Reason::Error("no bank today"));
      }})));
  CHECK(failing.error().ToString().find("no bank today") != std::string::npos);
  CHECK(test.EventuallyProcesses(0));
}

TEST_CASE("serializer: the end of a service that has cut the link ends it, too") {
  Service service;
  TestNode test;
  const gen::PID pid = SpawnSerializer(test, service);
  const gen::PID inside = service.pids.All().at(0);
  test.Run(inside, [](Subject& self) { CHECK(self.Unlink(self.Parent())); }).value();
  auto answer = Begin(test, pid, 1);
  REQUIRE(service.Eventually({1}));
  test.node.Kill(inside).value();
  CHECK(answer.get().error() == gen::ErrProcessTerminated);
  CHECK(test.Ended(pid));
}

}  // namespace
}  // namespace ergon::node
