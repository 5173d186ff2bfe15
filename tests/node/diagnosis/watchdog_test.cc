// Turns that take too long are named.
#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <utility>

#include <ergon/act/pool.h>
#include <ergon/gen/blocking.h>

#include <kit/gate.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct SlowJob {};

gen::NodeOptions Watched(gen::NodeOptions options = {}) {
  options.workers = 2;
  options.watchdog_after = 20ms;
  return options;
}

// What is reported of one process. Others may be too: the machine may let any thread wait for so long.
std::optional<gen::BusyProcess> BusyOf(const gen::Node& node, gen::PID pid) {
  const auto busy = node.Info().busy;
  const auto found =
      std::find_if(busy.begin(), busy.end(), [&](const auto& one) { return one.pid == pid; });
  return found == busy.end() ? std::nullopt : std::optional(*found);
}
// Waits until it is between two turns: the next one begins with the next message.
bool EventuallyIdle(const gen::Node& node, gen::PID pid) {
  return kit::Eventually([&] { return node.ProcessInfo(pid)->state == gen::ProcessState::kIdle; });
}

// Waits until nothing has run for so long that the workers sleep.
bool EventuallyQuiet(const gen::Node& node) {
  return kit::Eventually([&, turns = std::uint64_t{0}, same = 0]() mutable {
    const std::uint64_t now = node.Info().turns;
    same = now == turns ? same + 1 : 0;
    turns = now;
    return same == 500;
  });
}

TEST_CASE("watchdog: names process, behaviour, message and time, once, and the end") {
  for (const auto policy :
       {gen::DispatcherPolicy::kWorkStealing, gen::DispatcherPolicy::kWorkSharing}) {
    kit::ThreadGate slow_gate;
    TestNode t(Watched({.policy = policy}));
    const gen::PID slow =
        t.Spawn({.message = [enter = slow_gate.Holder()](Subject&, gen::PID, gen::Message&) {
          enter();
          return gen::Continue();
        }});
    CHECK(t.Run(slow, [](Subject& self) { CHECK(self.RegisterName("slow_one")); }));
    REQUIRE(EventuallyIdle(t.node, slow));
    CHECK(t.node.Send(slow, SlowJob{}));
    std::optional<gen::BusyProcess> busy;
    REQUIRE(kit::Eventually([&] {
      busy = BusyOf(t.node, slow);
      return busy && busy->message.find("SlowJob") != std::string::npos;
    }));
    CHECK(busy->name == gen::Atom("slow_one"));
    CHECK(busy->behavior.find("Subject") != std::string::npos);
    CHECK(busy->running_for >= 20ms);
    // Its time goes on, others are served, and it is not reported again.
    CHECK(kit::Eventually([&] {
      CHECK(t.Run(t.Spawn(), [](Subject&) {}));
      const auto later = BusyOf(t.node, slow);
      return later && later->running_for >= busy->running_for + 40ms;
    }));
    const auto lines_of_slow = [&](std::string_view text) {
      const auto lines = t.log.Lines();
      return std::count_if(lines.begin(), lines.end(), [&](const auto& line) {
        return line.text.find(slow.ToString() + " 'slow_one' ") != std::string::npos &&
               line.text.find("SlowJob") != std::string::npos &&
               line.text.find(text) != std::string::npos;
      });
    };
    CHECK(lines_of_slow("without suspending itself") == 1);
    const std::regex time(" for [0-9]+\\.[0-9]{3} s, without suspending itself");
    const auto lines = t.log.Lines();
    CHECK(std::any_of(lines.begin(), lines.end(),
                      [&](const auto& line) { return std::regex_search(line.text, time); }));
    CHECK(lines_of_slow("that turn is over") == 0);
    slow_gate.Open();
    CHECK(kit::Eventually([&] { return lines_of_slow("that turn is over") == 1; }));
    CHECK(!BusyOf(t.node, slow));
  }
}

TEST_CASE("watchdog: a worker is named with its pool") {
  kit::ThreadGate gate;
  class WatchedPool : public act::Pool {
   public:
    explicit WatchedPool(std::function<void()> enter) : enter_(std::move(enter)) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      const auto slow = Make({.message = [enter = enter_](Subject&, gen::PID, gen::Message&) {
        enter();
        return gen::Continue();
      }});
      return act::PoolOptions{.pool_size = 1, .worker_factory = slow};
    }
    const std::function<void()> enter_;
  };
  TestNode t(Watched());
  const std::function<void()> enter = gate.Holder();
  const gen::PID pool =
      t.node.SpawnRegister("watched_pool", gen::Factory<WatchedPool>(enter)).value();
  CHECK(t.node.Send(pool, SlowJob{}));
  const std::string words = " ergon::node::Subject of pool 'watched_pool' has been in a handler";
  CHECK(kit::Eventually([&] { return t.log.Contains(words); }));
  std::ostringstream dump;
  t.node.Dump(dump);
  CHECK(dump.str().find("busy: <") != std::string::npos);
  CHECK(dump.str().find(words) != std::string::npos);
  gate.Open();
}

TEST_CASE("watchdog: Init, and several at a time, the longest first") {
  TestNode t(Watched());
  kit::Threads spawner;
  kit::ThreadGate gate;  // opens before the thread and the node end, also if the test fails
  spawner.Start([&t, enter = gate.Holder()] {
    CHECK(t.node.Spawn(Make({.init = [enter](Subject&, const gen::Args&) {
      enter();
      return gen::Continue();
    }})));
  });
  REQUIRE(kit::Eventually([&] { return t.node.Info().busy.size() == 1; }));
  CHECK(t.node.Info().busy[0].message.empty());
  const gen::PID second = t.Spawn();
  t.Begin(second, [enter = gate.Holder()](Subject&) { enter(); });
  // Both workers are stuck: nobody else can run, and still both are found.
  REQUIRE(kit::Eventually([&] { return t.node.Info().busy.size() == 2; }));
  const auto busy = t.node.Info().busy;
  CHECK(busy[0].running_for > busy[1].running_for);
  CHECK(busy[1].pid == second);
  gate.Open();
  spawner.Join();
  CHECK(kit::Eventually([&] { return t.node.Info().busy.empty(); }));
}

TEST_CASE("watchdog: in Terminate no message is being handled, whatever was before") {
  kit::ThreadGate gate;
  TestNode t(Watched());
  const gen::PID ends =
      t.Spawn({.terminate = [enter = gate.Holder()](Subject& self, const gen::Reason&) {
        self.Yield();  // what is reported is not the turn of the last message
        enter();
      }});
  CHECK(t.node.Send(ends, End{gen::Reason::Normal()}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(kit::Eventually([&] {
    const auto busy = BusyOf(t.node, ends);
    return busy && busy->message.empty();
  }));
  gate.Open();
}

TEST_CASE("watchdog: not those that suspend themselves, block in a stretch or are detached") {
  std::atomic<bool> done{false};
  std::atomic<bool> yielded{false};
  kit::ThreadGate gate;
  TestNode t(Watched());
  const gen::PID waits = t.Spawn();
  t.Begin(waits, [](Subject& self) { (void)self.Sleep(1h); });
  const gen::PID yields = t.Spawn();
  t.Begin(yields, [&](Subject& self) {
    while (!done) {
      self.Yield();
      yielded = true;
    }
  });
  const gen::PID detached = t.Spawn({}, {.detached = true});
  t.Begin(detached, [enter = gate.Holder()](Subject&) { enter(); });
  const gen::PID blocks = t.Spawn();
  t.Begin(blocks, [enter = gate.Holder()](Subject&) {
    const gen::Blocking blocking;
    enter();
  });
  REQUIRE(t.EventuallyWaiting(waits));
  REQUIRE(kit::Eventually([&] { return yielded && gate.Entered() == 2; }));
  // One that is too long, as long after as the others would have taken to be noticed.
  kit::ThreadGate slow_gate;
  const gen::PID slow = t.Spawn();
  t.Begin(slow, [enter = slow_gate.Holder()](Subject&) { enter(); });
  REQUIRE(kit::Eventually([&] { return slow_gate.Entered() == 1 && BusyOf(t.node, slow); }));
  // They were noticed only if the machine kept a thread of theirs from running; that is soon over.
  for (const gen::PID pid : {waits, yields, blocks}) {
    CHECK(kit::Eventually([&] { return !BusyOf(t.node, pid); }));
  }
  CHECK(!BusyOf(t.node, detached));
  CHECK(!t.log.Contains(detached.ToString()));
  done = true;
  slow_gate.Open();
  gate.Open();
  CHECK(t.node.Kill(waits));
}

TEST_CASE("watchdog: what receives the log lines may look at the node meanwhile") {
  kit::ThreadGate gate;
  std::atomic<const gen::Node*> watched{nullptr};
  Notes<std::size_t> busy;
  gen::NodeOptions options = Watched();
  options.log_sink = [&](gen::LogLevel, const std::string& line) {
    const gen::Node* const node = watched;
    if (node != nullptr && line.find("SlowJob") != std::string::npos) {
      busy.Add(node->Info().busy.size());
    }
  };
  Node node = Start("test@localhost", options).value();
  watched = &node;
  const gen::PID slow =
      node.Spawn(Make({.message =
                           [enter = gate.Holder()](Subject&, gen::PID, gen::Message&) {
                             enter();
                             return gen::Continue();
                           }}))
          .value();
  REQUIRE(EventuallyIdle(node, slow));
  CHECK(node.Send(slow, SlowJob{}));
  CHECK(kit::Eventually([&] { return busy.size() == 1; }));
  gate.Open();
  CHECK(kit::Eventually([&] { return busy.size() == 2; }));
  CHECK(busy.All() == std::vector<std::size_t>{1, 0});
  node.Stop();
}

TEST_CASE("watchdog: 0 is never") {
  kit::ThreadGate gate;
  TestNode off({.workers = 2, .watchdog_after = 0ns});
  TestNode on(Watched());
  off.Begin(off.Spawn(), [enter = gate.Holder()](Subject&) { enter(); });
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  on.Begin(on.Spawn(), [enter = gate.Holder()](Subject&) { enter(); });
  REQUIRE(kit::Eventually([&] { return on.node.Info().busy.size() == 1; }));
  CHECK(off.node.Info().busy.empty());
  CHECK(off.log.Lines().empty());
  gate.Open();
}

TEST_CASE("watchdog: it wakes up again with the node after everything was asleep") {
  TestNode t(Watched());
  for (int round = 0; round < 3; ++round) {
    REQUIRE(EventuallyQuiet(t.node));  // so that it has stopped looking
    kit::ThreadGate gate;
    t.Begin(t.Spawn(), [enter = gate.Holder()](Subject&) { enter(); });
    CHECK(kit::Eventually([&] { return t.node.Info().busy.size() == 1; }));
    gate.Open();
    CHECK(kit::Eventually([&] { return t.node.Info().busy.empty(); }));
  }
}

TEST_CASE("watchdog: an end is told even if the whole node falls asleep while the line is logged") {
  kit::ThreadGate gate;
  std::atomic<const gen::Node*> watched{nullptr};
  gen::PID slow;
  std::atomic<int> ends{0};
  gen::NodeOptions options = Watched();
  options.log_sink = [&](gen::LogLevel, const std::string& line) {
    const gen::Node* const node = watched;  // set after `slow`
    if (node == nullptr || line.find("SlowJob") == std::string::npos) return;
    if (line.find("that turn is over") != std::string::npos) {
      ++ends;
      return;
    }
    // The watchdog's thread is here: it looks again when the turn is over and the workers sleep.
    gate.Open();
    (void)EventuallyIdle(*node, slow);
    (void)EventuallyQuiet(*node);
  };
  Node node = Start("test@localhost", options).value();
  slow = node.Spawn(Make({.message =
                              [enter = gate.Holder()](Subject&, gen::PID, gen::Message&) {
                                enter();
                                return gen::Continue();
                              }}))
             .value();
  watched = &node;
  REQUIRE(EventuallyIdle(node, slow));
  CHECK(node.Send(slow, SlowJob{}));
  CHECK(kit::Eventually([&] { return ends == 1; }));
  CHECK(node.Info().busy.empty());
  node.Stop();
}

}  // namespace
}  // namespace ergon::node
