// NodeOptions::log_burst: what is left out of a burst of log lines is counted and told.
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/node/diagnosis/log_bursts.h>
#include <ergon/node/option_keys.h>

#include <kit/manual_time.h>
#include <node/subject.h>

namespace ergon::node::log_bursts_test {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

static void Warn(TestNode& t, gen::PID pid, int lines) {
  CHECK(t.Run(pid, [lines](Subject& self) {
    for (int i = 0; i < lines; ++i) self.Log().Warning("line {}", i);
  }));
}

TEST_CASE("log burst: what is left out is counted, and told when the second is over") {
  const kit::ManualTime time;
  TestNode t(time.Into({.log_burst = 3}));
  const gen::PID named = t.node.SpawnRegister("teller", Make({})).value();
  Warn(t, named, 10);
  CHECK(t.Run(named, [](Subject& self) { self.Log().Error("another level"); }));
  // Processes without a name share the limit of their behaviour.
  Warn(t, t.Spawn(), 2);
  Warn(t, t.Spawn(), 2);
  t.node.Log().Warning("the node's own");
  CHECK(t.log.Count("'teller' ergon::node::Subject: line ") == 3);
  CHECK(t.log.Count("another level") == 1);
  CHECK(t.log.Count(" ergon::node::Subject: line ") == 6);
  CHECK(t.log.Count("the node's own") == 1);
  CHECK(t.node.Info().log_lines_left_out == 8);
  CHECK_FALSE(t.log.Contains("left out"));
  time.Pass(1s);
  CHECK(t.log.Count("test@localhost: 7 lines of 'teller' of level warning were left out: more than "
                    "3 in a second") == 1);
  CHECK(t.log.Count("test@localhost: 1 line of ergon::node::Subject of level warning was left "
                    "out: more than 3 in a second") == 1);
  Warn(t, named, 1);
  CHECK(t.log.Count("'teller' ergon::node::Subject: line ") == 4);
  time.Pass(5s);
  CHECK(t.log.Count("left out") == 2);
  CHECK(t.node.Info().log_lines_left_out == 8);
}

TEST_CASE("log burst: the end of the node tells what is left") {
  const kit::ManualTime time;
  TestNode t(time.Into({.log_burst = 1}));
  Warn(t, t.Spawn(), 5);
  CHECK_FALSE(t.log.Contains("left out"));
  t.node.Stop();
  CHECK(t.log.Count("4 lines of ergon::node::Subject of level warning were left out") == 1);
}

TEST_CASE("log burst: why a process panicked is never left out") {
  const kit::ManualTime time;
  TestNode t(time.Into({.log_burst = 1}));
  const gen::PID pid =
      t.Spawn({.message = [](Subject& self, gen::PID, gen::Message&) -> gen::Status {
        self.Log().Error("first");
        self.Log().Error("second");
        throw std::runtime_error("no paper");
      }});
  CHECK(t.node.Send(pid, std::string("print")));
  CHECK(kit::Eventually([&] { return t.log.Contains("no paper"); }));
  CHECK_FALSE(t.log.Contains("second"));
}

TEST_CASE("log burst: without the option nothing is left out") {
  TestNode t;
  Warn(t, t.Spawn(), 1000);
  CHECK(t.log.Count("line ") == 1000);
  CHECK(t.node.Info().log_lines_left_out == 0);
}

TEST_CASE("log burst: a number out of range is refused, and the key sets it") {
  CHECK(Start("log@localhost", {.log_burst = -1}).error().detail() ==
        "log_burst: -1 is outside 0..1000000");
  gen::NodeOptions options;
  CHECK(SetOption(options, "log_burst", "50"));
  CHECK(options.log_burst == 50);
  CHECK(SetOption(options, "log_burst", "1000001").error().detail() ==
        "log_burst: 1000001 is outside 0..1000000");
}

TEST_CASE("log burst: very many names share a limit, until their second is over") {
  core::ManualClock clock;
  core::TimerQueue timers(clock);
  std::string told;
  LogBursts bursts(1, timers, clock, [&](gen::LogLevel, const std::string& text) { told = text; });
  const auto take = [&](const std::string& behavior) {
    return bursts.Admit(
        {.level = gen::LogLevel::kInfo, .text = {}, .node = {}, .behavior = behavior});
  };
  for (std::size_t i = 0; i < LogBursts::kMostKeys; ++i) CHECK(take("b" + std::to_string(i)));
  CHECK(take("one more"));
  CHECK_FALSE(take("and another"));
  CHECK_FALSE(take("b0"));
  CHECK(bursts.left_out() == 2);
  // A line that comes before the timer has fired tells first.
  clock.AdvanceBy(LogBursts::kPeriod.count());
  CHECK(take("b0"));
  CHECK(told == "1 line of b0 of level info was left out: more than 1 in a second");
  CHECK(timers.RunDue() == 1);
  CHECK(told == "1 line of other processes of level info was left out: more than 1 in a second");
  CHECK(take("one more"));
  CHECK(take("and another"));
}

}  // namespace ergon::node::log_bursts_test
