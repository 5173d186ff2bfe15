#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include <ergon/act/pool.h>

#include <node/subject.h>

namespace ergon::node {
namespace {

// Counts how often it is formatted.
struct Counted {
  std::atomic<int>* count;
};

}  // namespace
}  // namespace ergon::node

template <>
struct fmt::formatter<ergon::node::Counted> : fmt::formatter<int> {
  template <class Context>
  auto format(const ergon::node::Counted& counted, Context& context) const {
    return fmt::formatter<int>::format(counted.count->fetch_add(1), context);
  }
};

namespace ergon::node {
namespace {

TEST_CASE("log: lines carry the pid, the name and the behaviour") {
  TestNode t({.watchdog_after = 0ns});  // which has lines of its own
  const gen::PID plain = t.Spawn();
  const gen::PID named = t.node.SpawnRegister("teller", Make({})).value();
  for (const gen::PID pid : {plain, named}) {
    CHECK(t.Run(pid, [](Subject& self) { self.Log().Warning("value {}", 7); }));
  }
  t.node.Log().Error("from outside");
  const auto lines = t.log.Lines();
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == plain.ToString() + " ergon::node::Subject: value 7");
  CHECK(lines[0].level == gen::LogLevel::kWarning);
  CHECK(lines[1].text == named.ToString() + " 'teller' ergon::node::Subject: value 7");
  CHECK(lines[2].text == "test@localhost: from outside");
  CHECK(lines[2].level == gen::LogLevel::kError);
}

TEST_CASE("log: a worker's lines name its pool") {
  class Told : public act::Pool {
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{.pool_size = 1,
                              .worker_factory = Make({.init = [](Subject& self, const gen::Args&) {
                                self.Log().Info("begins");
                                return gen::Continue();
                              }})};
    }
  };
  TestNode t;
  CHECK(t.node.SpawnRegister("told_pool", gen::Factory<Told>()));
  CHECK(t.log.Count(" ergon::node::Subject of pool 'told_pool': begins") == 1);
  const gen::PID nameless = t.node.Spawn(gen::Factory<Told>()).value();
  CHECK(t.log.Count(" ergon::node::Subject of pool " + nameless.ToString() + ": begins") == 1);
}

TEST_CASE("log: levels of the node and of a process") {
  TestNode t({.watchdog_after = 0ns, .log_level = gen::LogLevel::kWarning});
  auto all = [](Subject& self) {
    self.Log().Trace("T");
    self.Log().Debug("D");
    self.Log().Info("I");
    self.Log().Warning("W");
    self.Log().Error("E");
    self.Log().Panic("P");
  };
  auto logged = [&](gen::PID pid) {
    const std::size_t before = t.log.Lines().size();
    CHECK(t.Run(pid, all));
    return t.log.Lines().size() - before;
  };
  const gen::PID pid = t.Spawn();
  CHECK(logged(pid) == 3);
  CHECK(t.Run(pid, [](Subject& self) {
    CHECK(!self.Log().IsEnabled(gen::LogLevel::kInfo));
    self.SetLogLevel(gen::LogLevel::kTrace);
    CHECK(self.Log().IsEnabled(gen::LogLevel::kTrace));
  }));
  CHECK(logged(pid) == 6);
  CHECK(t.Run(pid, [](Subject& self) { self.SetLogLevel(gen::LogLevel::kOff); }));
  CHECK(logged(pid) == 0);
  // Each change is told.
  CHECK(t.log.Count(pid.ToString() + " ergon::node::Subject: log_level: trace, was the node's") ==
        1);
  CHECK(t.log.Count(pid.ToString() + " ergon::node::Subject: log_level: off, was trace") == 1);
  CHECK(t.Run(pid, [](Subject& self) { self.SetLogLevel(gen::LogLevel::kOff); }));
  const gen::PID chatty = t.Spawn({.init = [](Subject& self, const gen::Args&) {
    self.SetLogLevel(gen::LogLevel::kTrace);
    return gen::Continue();
  }});
  CHECK(logged(chatty) == 6);
  CHECK(t.log.Count("log_level: ") == 3);
  CHECK(logged(t.Spawn({}, {.log_level = gen::LogLevel::kDebug})) == 5);
  CHECK(logged(t.Spawn()) == 3);
  t.node.Log().Info("not this one");
  CHECK(!t.log.Contains("not this one"));
}

TEST_CASE("log: nothing is formatted that is not written") {
  std::atomic<int> count{0};
  TestNode t;
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    self.Log().Debug("{}", Counted{&count});
    CHECK(count == 0);
    self.Log().Info("{}", Counted{&count});
    CHECK(count == 1);
  }));
}

TEST_CASE("log: a panic is logged with its process") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  CHECK(!t.Run(pid, [](Subject&) { throw std::runtime_error("boom"); }));
  CHECK(t.log.Contains(pid.ToString() +
                       " ergon::node::Subject: ends with panic: boom (handling ergon::node::Do)"));
}

struct OddThrown {};

TEST_CASE("log: a panic tells what was handled, and the type of what is no std::exception") {
  const auto throws_odd = [](auto&&...) -> gen::Status { throw OddThrown(); };
  TestNode t;
  const std::string odd =
      "panic: an exception of type ergon::node::(anonymous namespace)::OddThrown";
  CHECK(t.node.Spawn(Make({.init = throws_odd})).error().detail() == odd);
  CHECK(t.Run(t.Spawn(), [&](Subject& self) {
    CHECK(self.Spawn(Make({.init = throws_odd})).error().detail() == odd);
  }));
  auto factory = t.node.Spawn(gen::ProcessFactory(
      []() -> std::unique_ptr<gen::ProcessBehavior> { throw OddThrown(); }, nullptr));
  CHECK(factory.error().detail() == odd);

  Notes<std::string> reasons;
  const gen::PID watcher = t.Spawn({.message = [&](Subject&, gen::PID, gen::Message& message) {
    reasons.Add(message.Take<gen::MessageDownPID>().reason.ToString());
    return gen::Continue();
  }});
  const gen::PID pid = t.Spawn({.message = throws_odd});
  CHECK(t.Run(watcher, [&](Subject& self) { self.Monitor(pid).value(); }));
  CHECK(t.node.Send(pid, Ask{1}));
  REQUIRE(kit::Eventually([&] { return reasons.size() == 1; }));
  CHECK(reasons.All().at(0) == odd + " (handling ergon::node::Ask)");
  CHECK(t.Run(t.Spawn(), [](Subject&) { throw 5; }).error().detail() ==
        "panic: an exception of type int (handling ergon::node::Do)");
  CHECK(t.Run(t.Spawn(), [](Subject&) { throw gen::Error(gen::ErrorCode::kTimeout, "of mine"); })
            .error()
            .detail() == "panic: timed out: of mine (handling ergon::node::Do)");
  CHECK(t.Run(t.Spawn(), [](Subject&) { throw std::string("words"); }).error().detail() ==
        "panic: words (handling ergon::node::Do)");
  // Another message than the one that the process was waiting for meanwhile.
  const gen::PID other = t.Spawn();
  CHECK(t.Run(t.Spawn(),
              [&](Subject& self) {
                (void)self.Call<bool>(other, Do{[](Subject&) {}});
                throw std::runtime_error("afterwards");
              })
            .error()
            .detail() == "panic: afterwards (handling ergon::node::Do)");
}

// Standard error goes to a file while it lives.
class StandardError {
 public:
  StandardError() : file_(std::tmpfile()), former_(::dup(STDERR_FILENO)) {
    ::dup2(::fileno(file_), STDERR_FILENO);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;
  ~StandardError() {
    ::dup2(former_, STDERR_FILENO);
    ::close(former_);
    std::fclose(file_);
  }
  [[nodiscard]] std::string Text() const {
    std::string text(4096, 0);
    const ssize_t size = ::pread(::fileno(file_), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return text;
  }

 private:
  std::FILE* const file_;
  const int former_;
};

TEST_CASE("log: a sink that throws loses its lines, and nothing else") {
  std::atomic<int> lines{0};
  gen::NodeOptions options;
  options.watchdog_after = 0ns;
  options.log_sink = [&](gen::LogLevel, const std::string&) {
    lines.fetch_add(1);
    throw std::runtime_error("the disk is full");
  };
  const StandardError standard_error;
  {
    Node node = Start("log@localhost", options).value();
    const gen::PID pid = node.Spawn(Make({})).value();
    CHECK(node.Call<bool>(pid, Do{[](Subject& self) { self.Log().Info("first"); }}, kPatient));
    CHECK(node.Call<bool>(pid, Do{[](Subject& self) { self.Log().Info("second"); }}, kPatient));
    node.Log().Info("from outside");
    CHECK_FALSE(
        node.Call<bool>(pid, Do{[](Subject&) { throw std::runtime_error("end"); }}, kPatient));
  }
  CHECK(lines == 4);
  const std::string text = standard_error.Text();
  CHECK(text.find("ergon: log_sink threw: the disk is full; ") == 0);
  CHECK(text.find("first\n") == text.size() - 6);  // told once
}

TEST_CASE("log: from many processes, one line at a time") {
  std::atomic<int> inside{0};
  std::atomic<int> clashes{0};
  std::atomic<int> lines{0};
  gen::NodeOptions options;
  options.watchdog_after = 0ns;
  options.log_sink = [&](gen::LogLevel, const std::string&) {
    if (inside.fetch_add(1) != 0) clashes.fetch_add(1);
    lines.fetch_add(1);
    inside.fetch_sub(1);
  };
  {
    Node node = Start("log@localhost", options).value();
    for (int i = 0; i < 8; ++i) {
      const gen::PID pid = node.Spawn(Make({})).value();
      CHECK(node.Send(pid, Do{[](Subject& self) {
                        for (int k = 0; k < 100; ++k) self.Log().Info("line {}", k);
                      }}));
    }
    CHECK(kit::Eventually([&] { return lines == 800; }));
  }
  CHECK(clashes == 0);
}

}  // namespace
}  // namespace ergon::node
