// Requests whose `from` and `ref` travel to another process, which answers in place of the one asked.
#include <optional>
#include <string>
#include <utility>

#include <ergon/act/pool.h>
#include <ergon/act/supervisor.h>

#include "subject.h"

namespace ergon::node {
namespace {

// A request on its way to the one who answers it.
struct Task {
  gen::PID from;
  gen::Ref ref;
  int value = 0;
};
struct Finish {};
struct Hold {};

// Keeps a task until it is told to answer, with ten times the value. Says whether it has one.
class Answers : public act::Actor {
 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (auto* task = message.As<Task>()) {
      task_ = *task;
    } else if (message.Is<Finish>()) {
      CHECK(SendResponse(task_->from, task_->ref, 10 * task_->value));
    } else if (message.Is<Hold>()) {
      (void)Sleep(gen::kInfinite);
    }
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    return gen::Reply(task_.has_value());
  }

  std::optional<Task> task_;
};

// When the first process hands the request over.
enum class When { kNever, kInHandler, kLater };

// What a caller gets from a process that gives `from` and `ref` to `other`.
struct Scene {
  explicit Scene(When when_in) : when(when_in) {}

  gen::PID SpawnFirst() {
    return test.Spawn(
        {.message =
             [this](Subject& self, gen::PID, gen::Message& message) {
               const auto task = message.Take<Task>();
               self.HandOver(other, task.from, task.ref).value();
               return gen::Continue();
             },
         .call =
             [this](Subject& self, gen::PID from, gen::Ref ref, gen::Message& request) {
               self.Send(other, Task{from, ref, request.Take<Ask>().value}).value();
               if (when == When::kInHandler) self.HandOver(other, from, ref).value();
               if (when == When::kLater) self.Send(self.Self(), Task{from, ref}).value();
               return gen::NoReply();
             }});
  }
  // The other has the task, and the first one has done all that it does.
  void Settle() {
    REQUIRE(kit::Eventually([&] { return test.node.Call<bool>(other, Ask{}).value(); }));
    test.Run(first, [](Subject&) {}).value();
    test.Run(first, [](Subject&) {}).value();
  }

  When when;
  TestNode test;
  gen::PID other = test.node.Spawn(gen::Factory<Answers>()).value();
  gen::PID first = SpawnFirst();
};

TEST_CASE("hand over: the answer of the other counts, although the first one has ended") {
  When when = When::kInHandler;
  gen::Reason reason;
  SUBCASE("in the handler") {}
  SUBCASE("later") { when = When::kLater; }
  SUBCASE("and it crashes") { reason = gen::Reason::Error("out of order"); }
  Scene scene(when);
  auto answer = scene.test.node.CallAsync<int>(scene.first, Ask{4}, kPatient);
  scene.Settle();
  scene.test.node.Send(scene.first, End{reason}).value();
  REQUIRE(scene.test.Ended(scene.first));
  scene.test.node.Send(scene.other, Finish{}).value();
  CHECK(answer.get().value() == 40);
}

TEST_CASE("hand over: to a caller that is a process") {
  Scene scene(When::kInHandler);
  const gen::PID caller = scene.test.Spawn();
  auto called = scene.test.node.CallAsync<bool>(
      caller, Do{[&](Subject& self) {
        CHECK(self.Call<int>(scene.first, Ask{4}, kPatient).value() == 40);
      }},
      kPatient);
  scene.Settle();
  scene.test.node.Kill(scene.first).value();
  REQUIRE(scene.test.Ended(scene.first));
  scene.test.node.Send(scene.other, Finish{}).value();
  CHECK(called.get().value());
}

TEST_CASE("hand over: a handler that stops afterwards leaves the request to the other") {
  TestNode test;
  const gen::PID other = test.node.Spawn(gen::Factory<Answers>()).value();
  const gen::PID first = test.Spawn(
      {.call = [&](Subject& self, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
        self.Send(other, Task{from, ref, 3}).value();
        self.HandOver(other, from, ref).value();
        return gen::Stop(gen::Reason::Error("had enough"));
      }});
  auto answer = test.node.CallAsync<int>(first, Ask{}, kPatient);
  REQUIRE(test.Ended(first));
  test.node.Send(other, Finish{}).value();
  CHECK(answer.get().value() == 30);
}

// Hands over what it is asked, and ends.
template <class Behavior>
class Leaves : public Behavior {
 public:
  explicit Leaves(gen::PID other) : other_(other) {}

 private:
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message&) override {
    this->Send(other_, Task{from, ref, 3}).value();
    this->HandOver(other_, from, ref).value();
    return gen::Stop(gen::Reason::Error("had enough"));
  }

  const gen::PID other_;
};
class LeavingSupervisor final : public Leaves<act::Supervisor> {
 public:
  using Leaves::Leaves;

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override { return act::SupervisorSpec{}; }
};
class LeavingPool final : public Leaves<act::Pool> {
 public:
  using Leaves::Leaves;

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 1, .worker_factory = Make({})};
  }
};

TEST_CASE(
    "hand over: a supervisor, or a pool, that stops afterwards leaves the request to the other") {
  TestNode test;
  const gen::PID other = test.node.Spawn(gen::Factory<Answers>()).value();
  gen::ProcessFactory factory;
  SUBCASE("supervisor") { factory = gen::Factory<LeavingSupervisor>(other); }
  SUBCASE("pool") { factory = gen::Factory<LeavingPool>(other); }
  const gen::PID first = test.node.Spawn(factory).value();
  auto answer = test.node.CallAsync<int>(
      first, Ask{}, {.timeout = kPatient.timeout, .priority = gen::MessagePriority::kHigh});
  REQUIRE(test.Ended(first));
  test.node.Send(other, Finish{}).value();
  CHECK(answer.get().value() == 30);
}

class PoolOf final : public act::Pool {
 public:
  explicit PoolOf(gen::ProcessFactory worker) : worker_(std::move(worker)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 1, .worker_factory = worker_};
  }
  const gen::ProcessFactory worker_;
};

TEST_CASE("hand over: a worker of a pool hands over what the pool has given it, and may end") {
  TestNode test;
  const gen::PID other = test.node.Spawn(gen::Factory<Answers>()).value();
  const gen::PID pool =
      test.node
          .Spawn(gen::Factory<PoolOf>(Make({.call = [&](Subject& self, gen::PID from, gen::Ref ref,
                                                        gen::Message& request) -> gen::CallResult {
            self.Send(other, Task{from, ref, request.Take<Ask>().value}).value();
            self.HandOver(other, from, ref).value();
            return gen::NoReply();
          }})))
          .value();
  auto answer = test.node.CallAsync<int>(pool, Ask{3}, kPatient);
  REQUIRE(kit::Eventually([&] { return test.node.Call<bool>(other, Ask{}, kPatient).value(); }));
  test.node.SendExit(pool, gen::Reason::Shutdown()).value();
  REQUIRE(test.Ended(pool));
  test.node.Send(other, Finish{}).value();
  CHECK(answer.get().value() == 30);
}

TEST_CASE("hand over: a process that ends may hand over what it has not answered") {
  TestNode test;
  const gen::PID other = test.node.Spawn(gen::Factory<Answers>()).value();
  gen::PID caller;
  gen::Ref asked;
  const gen::PID first = test.Spawn(
      {.call = [&](Subject& self, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
         self.Send(other, Task{from, ref, 3}).value();
         caller = from;
         asked = ref;
         return gen::Stop(gen::Reason::Error("had enough"));
       },
       .terminate = [&](Subject& self,
                        const gen::Reason&) { self.HandOver(other, caller, asked).value(); }});
  auto answer = test.node.CallAsync<int>(first, Ask{}, kPatient);
  REQUIRE(test.Ended(first));
  test.node.Send(other, Finish{}).value();
  CHECK(answer.get().value() == 30);
}

TEST_CASE("hand over: without it the request ends with the one who was asked") {
  Scene scene(When::kNever);
  auto answer = scene.test.node.CallAsync<int>(scene.first, Ask{4}, {.timeout = gen::kInfinite});
  scene.Settle();
  scene.test.node.Send(scene.first, End{gen::Reason::Error("done for")}).value();
  CHECK(answer.get().error().ToString() == "process terminated: done for");
}

TEST_CASE("hand over: the caller is told when the last holder ends") {
  bool busy = false;
  SUBCASE("that has noted it") {}
  SUBCASE("that is killed before it can look") { busy = true; }
  Scene scene(When::kInHandler);
  if (busy) {
    // Its handler waits, so that it looks at nothing else any more.
    scene.test.node.Send(scene.other, Hold{}).value();
    REQUIRE(scene.test.EventuallyWaiting(scene.other));
  }
  auto answer = scene.test.node.CallAsync<int>(scene.first, Ask{4}, {.timeout = gen::kInfinite});
  if (!busy) scene.Settle();
  scene.test.Run(scene.first, [](Subject&) {}).value();
  scene.test.node.Kill(scene.first).value();
  REQUIRE(scene.test.Ended(scene.first));
  scene.test.node.Kill(scene.other).value();
  CHECK(answer.get().error().ToString() == "process terminated: killed");
}

TEST_CASE("hand over: a request goes from hand to hand") {
  TestNode test;
  std::vector<gen::PID> hands;
  for (int i = 0; i < 5; ++i) hands.push_back(test.Spawn());
  Notes<Task> tasks;
  const gen::PID first =
      test.Spawn({.call = [&](Subject&, gen::PID from, gen::Ref ref, gen::Message&) {
        tasks.Add({from, ref});
        return gen::NoReply();
      }});
  auto answer = test.node.CallAsync<int>(first, Ask{}, {.timeout = gen::kInfinite});
  REQUIRE(kit::Eventually([&] { return tasks.size() == 1; }));
  const Task task = tasks.All().front();
  gen::PID holder = first;
  for (const gen::PID next : hands) {
    test.Run(holder,
             [&](Subject& self) {
               CHECK(self.HandOver(next, task.from, task.ref));
               CHECK(self.HandOver(next, task.from, task.ref).error() == gen::ErrNotAllowed);
             })
        .value();
    test.node.Kill(holder).value();
    REQUIRE(test.Ended(holder));
    holder = next;
  }
  test.Run(holder,
           [&](Subject& self) {
             CHECK(self.HandOver(self.Self(), task.from, task.ref));  // it stays
           })
      .value();
  test.node.Send(holder, End{gen::Reason::Error("the last one")}).value();
  CHECK(answer.get().error().ToString() == "process terminated: the last one");
}

TEST_CASE("hand over: what cannot be handed over") {
  TestNode test;
  Notes<Task> tasks;
  const gen::PID other = test.Spawn();
  const gen::PID gone = test.Spawn();
  test.node.Kill(gone).value();
  REQUIRE(test.Ended(gone));
  const gen::PID first = test.Spawn(
      {.call = [&](Subject& self, gen::PID from, gen::Ref ref, gen::Message&) -> gen::CallResult {
        CHECK(self.HandOver("nobody", from, ref).error() == gen::ErrProcessUnknown);
        CHECK(self.HandOver(gone, from, ref).error() == gen::ErrProcessTerminated);
        tasks.Add({from, ref});
        return gen::NoReply();
      }});
  auto answer = test.node.CallAsync<int>(first, Ask{}, {.timeout = gen::kInfinite});
  REQUIRE(kit::Eventually([&] { return tasks.size() == 1; }));
  const Task task = tasks.All().front();
  test.Run(other,
           [&](Subject& self) {
             const auto refused = self.HandOver(first, task.from, task.ref);
             REQUIRE_FALSE(refused);
             CHECK(refused.error() == gen::ErrNotAllowed);
             CHECK(refused.error().detail() ==
                   "HandOver: this process does not hold the request " + task.ref.ToString());
           })
      .value();
  test.Run(other, [&](Subject& self) { CHECK(self.SendResponse(task.from, task.ref, 7)); }).value();
  CHECK(answer.get().value() == 7);
  test.Run(first,
           [&](Subject& self) {
             CHECK(self.HandOver(other, task.from, task.ref).error() == gen::ErrResponseIgnored);
           })
      .value();
}

}  // namespace
}  // namespace ergon::node
