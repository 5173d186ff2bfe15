// What a time-out tells of the one who was called.
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/act/pool.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <node/subject.h>

namespace ergon::node::call_timeout_test {
namespace {

struct Sum {};

bool Has(const gen::Error& error, const std::string& text) {
  INFO(error.ToString());
  return error.ToString().find(text) != std::string::npos;
}

// The error of a call that times out, and its text.
#define CHECK_TELLS(error, text) CHECK_MESSAGE(Has(error, text), error.ToString())

// Of a call whose time is up when the condition holds.
template <class Condition>
gen::Error TimedOut(const kit::ManualTime& time, TestNode& t, gen::PID pid, Condition condition) {
  auto call = t.node.CallAsync<int>(pid, Square{1}, {.timeout = 1ms});
  REQUIRE(kit::Eventually(condition));
  time.Pass(2ms);
  auto answer = call.get();
  REQUIRE(!answer);
  CHECK(answer.error() == gen::ErrTimeout);
  CHECK_TELLS(answer.error(), "timed out: no answer to ergon::node::");
  CHECK_TELLS(answer.error(), "Square within ");
  return answer.error();
}

// Runs a function in a subject's turn, while time passes.
template <class F>
void RunInTime(const kit::ManualTime& time, TestNode& t, gen::PID pid, F function) {
  std::atomic<bool> done{false};
  t.Begin(pid, [&](Subject& self) {
    function(self);
    done = true;
  });
  REQUIRE(time.PassUntil([&] { return done.load(); }, 1ms));
}

std::string Who(gen::PID pid) { return pid.ToString() + " (ergon::node::Subject)"; }

TEST_CASE("call time-out: never comes early, on the machine's clock, short or long") {
  std::atomic<int> done{0};
  TestNode t;
  const gen::PID silent =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) { return gen::NoReply(); }});
  for (const auto timeout : {20ms, 999ms, 1000ms, 1003ms}) {
    t.Begin(t.Spawn(), [&done, silent, timeout](Subject& self) {
      const auto began = std::chrono::steady_clock::now();
      auto answer = self.Call<int>(silent, Square{1}, {.timeout = timeout});
      CHECK(std::chrono::steady_clock::now() - began >= timeout);
      REQUIRE(!answer);
      CHECK(answer.error() == gen::ErrTimeout);
      ++done;
    });
  }
  CHECK(kit::Eventually([&] { return done == 4; }));
}

TEST_CASE("call time-out: the callee handles the request, and waits itself") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::Gate gate(t.node);
  const gen::PID pid = t.Spawn({.call = [&](Subject& self, gen::PID, gen::Ref, gen::Message&) {
    CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}));
    return gen::Reply(1);
  }});
  const gen::Error error = TimedOut(time, t, pid, [&] { return t.IsWaiting(pid); });
  CHECK_TELLS(error, Who(pid) + " has been handling it for ");
  CHECK_TELLS(error, " and has waited for " + gate.pid().ToString());
  CHECK_TELLS(error, "to answer ergon::kit::EnterGate for ");
  gate.Open();
}

TEST_CASE("call time-out: the callee is busy with another message, others wait before") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  const gen::PID caller = t.Spawn();
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(t.node.Send(pid, End{}));
  CHECK(t.node.Send(pid, End{}));
  const gen::Error error = TimedOut(time, t, pid, [] { return true; });
  CHECK_TELLS(error, Who(pid) + " has been handling ergon::node::Do for ");
  CHECK_TELLS(error, "; the request is at about position 3 of its mailbox");
  // Also from a process, in whose text only the position differs.
  RunInTime(time, t, caller, [&](Subject& self) {
    auto answer = self.Call<int>(pid, Square{2}, {.timeout = 1ms});
    REQUIRE(!answer);
    CHECK(answer.error() == gen::ErrTimeout);
    CHECK_TELLS(answer.error(), Who(pid) + " has been handling ergon::node::Do for ");
    CHECK_TELLS(answer.error(), "; the request is at about position 4 of its mailbox");
    // High priority has no place in that line.
    auto high =
        self.Call<int>(pid, Square{2}, {.timeout = 1ms, .priority = gen::MessagePriority::kHigh});
    CHECK_TELLS(high.error(), "; messages that wait in its mailbox: 4");
  });
  gate.Open();
}

TEST_CASE("call time-out: the callee is in its Init, and waits for that of a child") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::Gate gate(t.node);
  const auto child = Make({.init = [&](Subject& self, const gen::Args&) {
    CHECK(self.Call<bool>(gate.pid(), kit::EnterGate{}, {.timeout = gen::kInfinite}));
    return gen::Continue();
  }});
  const auto parent = Make({.init = [&](Subject& self, const gen::Args&) {
    CHECK(self.Spawn(child, {.init_timeout = gen::kInfinite}));
    return gen::Continue();
  }});
  std::jthread spawner(
      [&] { CHECK(t.node.SpawnRegister("parent", parent, {.init_timeout = gen::kInfinite})); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  const gen::PID pid = t.node.Resolve(gen::Atom("parent")).value();
  const gen::Error error = TimedOut(time, t, pid, [] { return true; });
  CHECK_TELLS(error, Who(pid) + " is busy with Init");
  CHECK_TELLS(error, ", and waits for the Init of <test@localhost.");
  CHECK_FALSE(Has(error, " s;"));  // no time is known
  gate.Open();
}

TEST_CASE("call time-out: handled without an answer, put aside, suspended") {
  std::atomic<int> taken{0};
  const kit::ManualTime time;
  TestNode t(time.Into());
  const gen::PID no_reply = t.Spawn({.call = [&](Subject&, gen::PID, gen::Ref, gen::Message&) {
    taken.fetch_add(1);
    return gen::NoReply();
  }});
  const gen::PID stashes =
      t.Spawn({.call = [&](Subject& self, gen::PID, gen::Ref, gen::Message& request) {
        taken.fetch_add(1);
        self.Stash(request);
        return gen::NoReply();
      }});
  const gen::PID held = t.Spawn();
  CHECK(t.node.Suspend(held));
  const std::vector<std::pair<gen::PID, std::string>> cases = {
      {no_reply, " has handled it without an answer"},
      {stashes, " has put it aside or passed it on"},
      {held, " is suspended; the request is at about position "}};
  int requests = 0;
  for (const auto& [pid, text] : cases) {
    CAPTURE(text);
    // The one that is held never takes any.
    const auto has_taken = [&, to = pid] {
      return to == held ||
             (taken == requests && t.node.ProcessInfo(to)->state == gen::ProcessState::kIdle);
    };
    ++requests;
    CHECK_TELLS(TimedOut(time, t, pid, has_taken), Who(pid) + text);
    ++requests;
    const gen::PID caller = t.Spawn();
    t.Begin(caller, [&, to = pid, tells = text](Subject& self) {
      auto answer = self.Call<int>(to, Square{2}, {.timeout = 1ms});
      CHECK(answer.error() == gen::ErrTimeout);
      CHECK_TELLS(answer.error(), Who(to) + tells);
    });
    REQUIRE(t.EventuallyWaiting(caller));
    REQUIRE(kit::Eventually(has_taken));
    time.Pass(2ms);
    CHECK(t.Run(caller, [](Subject&) {}));
  }
  CHECK(t.node.Resume(held));
}

class GatedWorker : public act::Actor {
 public:
  explicit GatedWorker(kit::ThreadGate* gate) : hold_(gate->Holder()) {}

 private:
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message&) override {
    hold_();
    return gen::Reply(1);
  }
  std::function<void()> hold_;
};

class GatedPool : public act::Pool {
 public:
  explicit GatedPool(kit::ThreadGate* gate) : gate_(gate) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 1, .worker_factory = gen::Factory<GatedWorker>(gate_)};
  }
  kit::ThreadGate* gate_;
};

TEST_CASE("call time-out: through a pool, the worker that has it is named") {
  kit::ThreadGate gate;
  const kit::ManualTime time;
  TestNode t(time.Into());
  const gen::PID caller = t.Spawn();
  const gen::PID pool = t.node.Spawn(gen::Factory<GatedPool>(&gate)).value();
  auto begun = t.node.CallAsync<int>(pool, Square{1}, {.timeout = 100ms});
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  auto waits = t.node.CallAsync<int>(pool, Square{2}, {.timeout = 100ms});
  time.Pass(200ms);
  const gen::Error error = begun.get().error();
  CHECK(error == gen::ErrTimeout);
  CHECK_TELLS(
      error,
      pool.ToString() +
          " (ergon::node::call_timeout_test::(anonymous namespace)::GatedPool): its worker ");
  CHECK_TELLS(error, "GatedWorker) has been handling it for ");
  CHECK_TELLS(waits.get().error(),
              ": none of its workers (1) has begun with it; messages that wait there: 1");
  // A process knows which worker has got it.
  RunInTime(time, t, caller, [&](Subject& self) {
    auto answer = self.Call<int>(pool, Sum{}, {.timeout = 1ms});
    CHECK(answer.error() == gen::ErrTimeout);
    CHECK_TELLS(answer.error(), "GatedWorker) has been handling ergon::node::");
    CHECK_TELLS(answer.error(), "; the request is at about position 2 of its mailbox");
  });
  gate.Open();
}

TEST_CASE("call time-out: the time of a handler that has waited is not the next one's") {
  const kit::ManualTime time;
  TestNode t(time.Into());
  kit::ThreadGate gate;
  const gen::PID pid = t.Spawn();
  t.Begin(pid, [](Subject& self) { CHECK(self.Sleep(1s)); });
  t.Begin(pid, [hold = gate.Holder()](Subject&) { hold(); });
  REQUIRE(t.EventuallyWaiting(pid));
  time.Pass(2s);
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK_TELLS(TimedOut(time, t, pid, [] { return true; }),
              " has been handling ergon::node::Do for 2 ms;");
  gate.Open();
}

}  // namespace
}  // namespace ergon::node::call_timeout_test
