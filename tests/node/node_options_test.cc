#include <memory>
#include <string>
#include <vector>

#include <ergon/core/stepping.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

struct Bad {
  gen::NodeOptions options;
  std::string text;  // field and value
};

TEST_CASE("node options: each bad one is named with its value") {
  const std::vector<Bad> cases = {
      {{.workers = -1}, "workers: -1"},
      {{.workers = 1}, "workers: 1"},
      {{.workers = 1025}, "workers: 1025"},
      {{.throughput = 0}, "throughput: 0"},
      {{.throughput = -5}, "throughput: -5"},
      {{.throughput = 4097}, "throughput: 4097"},
      {{.turn_time = -1ns}, "turn_time: -1"},
      {{.turn_time = 2s}, "turn_time: 2s is outside 0..1s"},
      {{.turn_limit = -1ns}, "turn_limit: -1"},
      {{.turn_limit = 2s}, "turn_limit: 2s is outside 0..1s"},
      {{.handler_stack_bytes = 100}, "handler_stack_bytes: 100"},
      {{.handler_stack_bytes = std::size_t{2} << 30}, "handler_stack_bytes: 2147483648"},
      {{.drops_remembered = -1}, "drops_remembered: -1"},
      {{.drops_remembered = 4097}, "drops_remembered: 4097"},
      {{.dump_on_sigquit = true, .clock = std::make_shared<core::SteadyClock>()},
       "dump_on_sigquit: true"},
      {{.stop_on_signal = true, .clock = std::make_shared<core::SteadyClock>()},
       "stop_on_signal: true"},
      {{.mailbox_size = -1}, "mailbox_size: -1"},
      {{.mailbox_size = 4'000'001}, "mailbox_size: 4000001"},
      {{.shutdown_timeout = -1ns}, "shutdown_timeout: -1"},
      {{.shutdown_timeout = 5ns, .shutdown_deadline = 5ns},
       "shutdown_deadline: 5ns, must be more than shutdown_timeout, 5ns"},
      {{.shutdown_deadline = -1ns}, "shutdown_deadline: -1ns, must not be negative"},
      {{.search_time = -1ns}, "search_time: -1"},
      {{.stealing = {.aggressive = {.attempts = -1}}}, "stealing.aggressive.attempts: -1"},
      {{.stealing = {.moderate = {.attempts = 1'000'001}}}, "stealing.moderate.attempts: 1000001"},
      {{.stealing = {.relaxed = {.pause = 2s}}}, "stealing.relaxed.pause: 2s"},
      {{.blocking_threads = -1}, "blocking_threads: -1"},
      {{.blocking_threads = 1025}, "blocking_threads: 1025"},
      {{.watchdog_after = -1ns}, "watchdog_after: -1"},
      {{.watchdog_after = 1us}, "watchdog_after: 1us,"},
  };
  for (const Bad& bad : cases) {
    CAPTURE(bad.text);
    auto node = Start("test@localhost", bad.options);
    REQUIRE(!node);
    CHECK(node.error() == gen::ErrIncorrect);
    const std::string text = node.error().ToString();
    CAPTURE(text);
    CHECK(text.find(bad.text) != std::string::npos);
  }
}

TEST_CASE("node options: what holds if nothing is said") {
  const gen::NodeOptions options;
  CHECK(options.turn_limit == 1ms);
  CHECK(options.policy == gen::DispatcherPolicy::kWorkStealing);
}

TEST_CASE("node options: names of nodes") {
  for (const std::string name : {"", "node", "@host", "node@", "@"}) {
    CAPTURE(name);
    auto node = Start(name);
    REQUIRE(!node);
    CHECK(node.error() == gen::ErrIncorrect);
    CHECK(node.error().ToString().find('"' + name + '"') != std::string::npos);
  }
  CHECK(Start(std::string(300, 'x') + "@host").error().detail() ==
        "node name: 305 bytes, at most 255 are possible: \"" + std::string(40, 'x') + "\"...");
  // One word: it is a part of log lines, and of lists of names. Names that are refused are no atoms.
  const std::pair<std::string, std::string> not_words[] = {
      {"no de@host", "\"no de@host\""},
      {"node@ho\nst", "\"node@ho\\x0ast\""},
      {"node@host\t", "\"node@host\\x09\""},
      {std::string("node\0@host", 10), "\"node\\x00@host\""},
      {"node@host\x7f", "\"node@host\\x7f\""}};
  for (const auto& [name, quoted] : not_words) {
    CAPTURE(quoted);
    auto node = Start(name);
    REQUIRE(!node);
    CHECK(node.error() == gen::ErrIncorrect);
    CHECK(node.error().detail() ==
          "node name: " + quoted + " contains a space or a control character");
    CHECK(gen::Atom::Find(name) == std::nullopt);
  }
  CHECK(Start("node@host").value().Name() == gen::Atom("node@host"));
}

TEST_CASE("node options: good ones at their limits") {
  for (const gen::NodeOptions& options :
       {gen::NodeOptions{.workers = 2, .throughput = 1, .handler_stack_bytes = 16 * 1024},
        gen::NodeOptions{.policy = gen::DispatcherPolicy::kWorkSharing, .throughput = 4096},
        gen::NodeOptions{.shutdown_timeout = 0ns},
        gen::NodeOptions{.shutdown_timeout = gen::kInfinite}}) {
    TestNode t(options);
    CHECK(t.node.Info().workers >= 2);
    CHECK(t.Run(t.Spawn(), [](Subject& self) { CHECK(self.Sleep(1us)); }));
  }
}

TEST_CASE("node options: an unlimited shutdown lets processes end in order") {
  std::atomic<int> handled{0};
  {
    TestNode t({.shutdown_timeout = gen::kInfinite});
    const gen::PID pid = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message&) {
      CHECK(self.Sleep(1ms));
      handled.fetch_add(1);
      return gen::Continue();
    }});
    for (int i = 0; i < 20; ++i) CHECK(t.node.Send(pid, i));
  }
  CHECK(handled == 20);
}

TEST_CASE("node options: several nodes in one program do not know each other's processes") {
  TestNode one({.creation = 4});
  Node two = Start("other@localhost").value();
  const gen::PID pid = one.Spawn();
  CHECK(two.Send(pid, 1).error() == gen::ErrNoConnection);
  CHECK(two.ProcessInfo(pid).error() == gen::ErrNoConnection);
  // The same name again: another incarnation.
  Node again = Start("test@localhost", {.creation = 5}).value();
  CHECK(again.Send(pid, 1).error() == gen::ErrProcessIncarnation);
}

TEST_CASE("node options: a node can be moved") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  Node moved = std::move(t.node);
  CHECK(moved.Call<bool>(pid, Do{[](Subject&) {}}).value());
  t.node = Start("test@localhost").value();
  CHECK(t.Run(t.Spawn(), [](Subject&) {}));
}

}  // namespace
}  // namespace ergon::node
