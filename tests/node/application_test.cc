// Applications: groups of processes that start and end together.
#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ergon/gen/blocking.h>
#include <ergon/gen/log_limit.h>

#include <kit/gate.h>
#include <kit/manual_time.h>
#include <kit/recorder.h>
#include <kit/threads.h>

#include "subject.h"

namespace ergon::node {
namespace {

using gen::ApplicationMode;
using gen::ApplicationSpec;
using gen::ApplicationState;
using kit::Eventually;
using Lines = std::vector<std::string>;

// Applications whose processes note when they start and end.
struct AppNode {
  ~AppNode() { test.node.Stop(); }

  Handlers Noting() {
    return {.init =
                [this](Subject& self, const gen::Args&) {
                  notes.Add("+" + self.Name().ToString());
                  return gen::Continue();
                },
            .terminate =
                [this](Subject& self, const gen::Reason& reason) {
                  notes.Add("-" + self.Name().ToString() + " " + reason.ToString());
                }};
  }
  gen::ApplicationProcess Process(gen::Atom name) {
    return {.name = name, .factory = Make(Noting())};
  }
  // With two processes, <name>1 and <name>2.
  ApplicationSpec Spec(const std::string& name, std::vector<gen::Atom> depends = {},
                       ApplicationMode mode = ApplicationMode::kTemporary) {
    return {.name = name,
            .depends = std::move(depends),
            .processes = {Process(name + "1"), Process(name + "2")},
            .mode = mode};
  }
  void Load(const ApplicationSpec& spec) { test.node.LoadApplication(spec).value(); }
  ApplicationState State(gen::Atom name) { return test.node.ApplicationInfo(name).value().state; }
  bool EventuallyState(gen::Atom name, ApplicationState state) {
    return Eventually([&] { return State(name) == state; });
  }
  void EndProcess(gen::Atom name, gen::Reason reason) {
    const gen::PID pid = test.node.Resolve(name).value();
    test.node.Send(pid, End{std::move(reason)}).value();
    REQUIRE(test.Ended(pid));
  }
  // The node ends by itself.
  bool EventuallyStopped() {
    test.node.Wait();
    return test.node.Info().processes == 0;
  }
  std::string ErrorOf(const gen::Result<void>& result) {
    REQUIRE_FALSE(result);
    return std::string(result.error().detail());
  }

  Notes<std::string> notes;
  TestNode test;
};

TEST_CASE("application: starts in order, ends in reverse order, starts again") {
  AppNode app;
  auto spec = app.Spec("a");
  spec.description = "an application";
  spec.environment = {{"key", "value"}};
  app.Load(spec);
  CHECK(app.State("a") == ApplicationState::kLoaded);
  REQUIRE(app.test.node.StartApplication("a"));
  const auto info = app.test.node.ApplicationInfo("a").value();
  CHECK(info.state == ApplicationState::kRunning);
  CHECK(info.environment.at("key") == "value");
  CHECK(info.description == "an application");
  REQUIRE(info.processes.size() == 2);
  CHECK(info.processes[1] == app.test.node.Resolve("a2").value());
  REQUIRE(app.test.node.StopApplication("a"));
  CHECK(app.State("a") == ApplicationState::kLoaded);
  CHECK(app.test.node.ApplicationInfo("a").value().processes.empty());
  CHECK(app.notes.All() == Lines{"+a1", "+a2", "-a2 shutdown", "-a1 shutdown"});
  REQUIRE(app.test.node.StartApplication("a"));
  CHECK(app.test.node.Applications() == std::vector<gen::Atom>{"a"});
}

TEST_CASE("application: what is not allowed") {
  AppNode app;
  CHECK(app.ErrorOf(app.test.node.LoadApplication({})) == "name: must not be empty");
  CHECK(app.ErrorOf(app.test.node.LoadApplication({.name = "x"})) ==
        "processes: must not be empty");
  CHECK(app.ErrorOf(app.test.node.LoadApplication({.name = "x", .processes = {{}}})) ==
        "processes[0].factory: is empty");
  CHECK(app.test.node.StartApplication("x").error() == gen::ErrProcessUnknown);
  CHECK(app.test.node.StopApplication("x").error() == gen::ErrProcessUnknown);
  CHECK(app.test.node.UnloadApplication("x").error() == gen::ErrProcessUnknown);
  CHECK(app.test.node.ApplicationInfo("x").error() == gen::ErrProcessUnknown);
  app.Load(app.Spec("a"));
  CHECK(app.test.node.LoadApplication(app.Spec("a")).error() == gen::ErrTaken);
  CHECK(app.ErrorOf(app.test.node.StopApplication("a")) == "application 'a' does not run");
  REQUIRE(app.test.node.StartApplication("a"));
  CHECK(app.ErrorOf(app.test.node.StartApplication("a")) == "application 'a' is running");
  CHECK(app.test.node.UnloadApplication("a").error() == gen::ErrNotAllowed);
  const gen::PID subject = app.test.Spawn();
  REQUIRE(app.test.Run(subject, [](Subject& self) {
    CHECK(self.Node().StartApplication("a").error() == gen::ErrNotAllowed);
    CHECK(self.Node().StopApplication("a").error() == gen::ErrNotAllowed);
    CHECK(self.Node().ApplicationInfo("a"));
  }));
  REQUIRE(app.test.node.StopApplication("a"));
  CHECK(app.test.node.UnloadApplication("a"));
  CHECK(app.test.node.Applications().empty());
}

TEST_CASE("application: dependencies start first, once, and are needed while it runs") {
  AppNode app;
  app.Load(app.Spec("c", {"a", "b"}));
  app.Load(app.Spec("b", {"a"}));
  app.Load(app.Spec("a"));
  REQUIRE(app.test.node.StartApplication("c"));
  CHECK(app.notes.All() == Lines{"+a1", "+a2", "+b1", "+b2", "+c1", "+c2"});
  CHECK(app.ErrorOf(app.test.node.StopApplication("a")) ==
        (app.test.node.Applications()[0] == gen::Atom("c")
             ? "application 'c' needs 'a' and is running"
             : "application 'b' needs 'a' and is running"));
  REQUIRE(app.test.node.StopApplication("c"));
  REQUIRE(app.test.node.StopApplication("b"));
  REQUIRE(app.test.node.StopApplication("a"));
}

TEST_CASE("application: each may depend on all before it") {
  AppNode app;
  Lines started;
  std::vector<gen::Atom> before;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "many" + std::to_string(i);
    app.Load({.name = name, .depends = before, .processes = {app.Process(name + "1")}});
    before.emplace_back(name);
    started.push_back("+" + name + "1");
  }
  REQUIRE(app.test.node.StartApplication(before.back()));
  CHECK(app.notes.All() == started);
}

TEST_CASE("application: a dependency that is stopped before who needs it starts") {
  AppNode app;
  std::atomic<bool> goes_on{false};
  app.Load(app.Spec("first"));
  app.Load({.name = "slow",
            .processes = {
                {.name = "waits", .factory = Make({.init = [&](Subject& self, const gen::Args&) {
                                    while (!goes_on && self.Sleep(1ms)) continue;
                                    return gen::Continue();
                                  }})}}});
  app.Load(app.Spec("last", {"first", "slow"}));
  std::thread starts([&] {
    CHECK(app.ErrorOf(app.test.node.StartApplication("last")) ==
          "application 'last' needs 'first', which has ended: shutdown");
  });
  CHECK(app.EventuallyState("slow", ApplicationState::kStarting));
  CHECK(app.test.node.StopApplication("first"));
  goes_on = true;
  starts.join();
  CHECK(app.State("slow") == ApplicationState::kRunning);
  CHECK(app.State("last") == ApplicationState::kLoaded);
}

// A node with two applications, of which the second needs the first.
struct HeldMasters {
  static ApplicationSpec Spec(const std::string& name, std::vector<gen::Atom> depends) {
    return {.name = name,
            .depends = std::move(depends),
            .processes = {{.name = name + " fails", .factory = Make({})},
                          {.name = name + " stays", .factory = Make({})}}};
  }
  HeldMasters() {
    node.LoadApplication(Spec("first", {})).value();
    node.LoadApplication(Spec("second", {"first"})).value();
  }
  ~HeldMasters() { gate.Open(); }
  HeldMasters(const HeldMasters&) = delete;
  HeldMasters& operator=(const HeldMasters&) = delete;
  // Holds the master of an application while it tells of a process that has failed.
  void Hold(const std::string& name) {
    node.Send(name + " fails", End{gen::Reason::Error("broken")}).value();
    REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  }

  kit::ThreadGate gate;
  Node node = Start("test@localhost", {.log_sink =
                                           [this](gen::LogLevel, const std::string& line) {
                                             if (line.find("has ended: ") != std::string::npos)
                                               gate.Enter();
                                           }})
                  .value();
};

TEST_CASE_FIXTURE(HeldMasters,
                  "application: asked to stop, it needs what it needs until it begins to") {
  node.StartApplication("second").value();
  Hold("second");
  CHECK(node.StopApplication("second", 0s).error() == gen::ErrTimeout);
  const auto stopped = node.StopApplication("first");
  gate.Open();
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().detail() == "application 'second' needs 'first' and is stopping");
  CHECK(Eventually(
      [&] { return node.ApplicationInfo("second").value().state == ApplicationState::kLoaded; }));
  CHECK(node.StopApplication("first"));
}

TEST_CASE_FIXTURE(HeldMasters,
                  "application: once it is asked to stop, nothing that needs it starts") {
  node.StartApplication("first").value();
  Hold("first");
  std::jthread stops([&] { CHECK(node.StopApplication("first")); });
  CHECK(Eventually(
      [&] { return node.ApplicationInfo("first").value().state == ApplicationState::kStopping; }));
  const auto started = node.StartApplication("second");
  gate.Open();
  REQUIRE_FALSE(started);
  CHECK(started.error().detail() == "application 'first' is stopping");
}

TEST_CASE("application: missing and circular dependencies are named, and nothing is started") {
  AppNode app;
  app.Load(app.Spec("a", {"b"}));
  app.Load(app.Spec("b", {"c"}));
  CHECK(app.ErrorOf(app.test.node.StartApplication("a")) ==
        "depends: 'c', which 'b' needs, is not loaded");
  app.Load(app.Spec("c", {"a"}));
  CHECK(app.ErrorOf(app.test.node.StartApplication("a")) ==
        "depends: 'a' -> 'b' -> 'c' -> 'a' is circular");
  app.Load(app.Spec("d", {"d"}));
  CHECK(app.ErrorOf(app.test.node.StartApplication("d")) == "depends: 'd' -> 'd' is circular");
  CHECK(app.notes.size() == 0);
  CHECK(app.State("b") == ApplicationState::kLoaded);
}

TEST_CASE("application: a process that fails to start ends the others") {
  AppNode app;
  auto spec = app.Spec("a", {"b"});
  spec.processes.push_back(
      {.name = "a3", .factory = Make({.init = [](Subject&, const gen::Args&) -> gen::Status {
                       return gen::Stop(gen::Reason::Error("no"));
                     }})});
  app.Load(spec);
  app.Load(app.Spec("b"));
  CHECK(app.ErrorOf(app.test.node.StartApplication("a")) == "application 'a': process 2 'a3': no");
  CHECK(app.notes.All() == Lines{"+b1", "+b2", "+a1", "+a2", "-a2 shutdown", "-a1 shutdown"});
  CHECK(app.State("a") == ApplicationState::kLoaded);
  CHECK(app.State("b") == ApplicationState::kRunning);
  app.Load({.name = "c", .processes = {app.Process("b1")}});
  CHECK(app.ErrorOf(app.test.node.StartApplication("c")) ==
        "application 'c': process 0 'b1': name is taken: 'b1'");
  spec = {.name = "d", .processes = {{.factory = spec.processes.back().factory}}};
  app.Load(spec);
  CHECK(app.ErrorOf(app.test.node.StartApplication("d")) == "application 'd': process 0: no");
}

TEST_CASE("application: its processes may start slowly, each within its own time-out") {
  const kit::ManualTime time;
  kit::Recorder begun;
  TestNode t(time.Into());
  const auto slow = Make({.init = [&begun](Subject& self, const gen::Args&) {
    begun.Add(self.Self(), {}, 0);
    CHECK(self.Sleep(3s));
    return gen::Continue();
  }});
  // Together they take longer than each of them may.
  constexpr std::size_t kProcesses = 20;
  const std::vector<gen::ApplicationProcess> processes(
      kProcesses, {.factory = slow, .options = {.init_timeout = 5s}});
  t.node.LoadApplication({.name = "slow", .processes = processes}).value();
  std::thread starts([&] { CHECK(t.node.StartApplication("slow")); });
  for (std::size_t i = 1; i <= kProcesses; ++i) {
    CHECK(kit::Eventually(
        [&] { return begun.size() == i && t.IsWaiting(begun.All().back().worker); }));
    time.Pass(3s);
  }
  starts.join();
  CHECK(t.node.ApplicationInfo("slow").value().state == ApplicationState::kRunning);
}

TEST_CASE("application: temporary ones end with their last process, and never end the node") {
  AppNode app;
  app.Load(app.Spec("a"));
  REQUIRE(app.test.node.StartApplication("a"));
  app.EndProcess("a1", gen::Reason::Error("failure"));
  CHECK(
      Eventually([&] { return app.test.node.ApplicationInfo("a").value().processes.size() == 1; }));
  CHECK(app.State("a") == ApplicationState::kRunning);
  app.EndProcess("a2", gen::Reason::Normal());
  CHECK(app.EventuallyState("a", ApplicationState::kLoaded));
  CHECK(app.test.node.ApplicationInfo("a")->last_end ==
        gen::Reason::Error("a1 has ended: failure"));
  CHECK(app.test.node.StartApplication("a"));
}

TEST_CASE("application: transient ones end the node after a failure only") {
  AppNode app;
  app.Load(app.Spec("a", {}, ApplicationMode::kTransient));
  REQUIRE(app.test.node.StartApplication("a"));
  SUBCASE("normal ends") {
    app.EndProcess("a1", gen::Reason::Normal());
    app.EndProcess("a2", gen::Reason::Shutdown());
    CHECK(app.EventuallyState("a", ApplicationState::kLoaded));
    CHECK(app.test.node.StartApplication("a"));
  }
  SUBCASE("a failure") {
    app.EndProcess("a1", gen::Reason::Error("failure"));
    CHECK(app.EventuallyStopped());
    CHECK(app.notes.All().back() == "-a2 shutdown");
  }
  SUBCASE("stopped on demand") {
    REQUIRE(app.test.node.StopApplication("a"));
    CHECK(app.test.node.StartApplication("a"));
  }
}

TEST_CASE("application: permanent ones end the node, whatever the reason") {
  AppNode app;
  app.Load(app.Spec("a", {}, ApplicationMode::kPermanent));
  REQUIRE(app.test.node.StartApplication("a"));
  SUBCASE("normal end") {
    app.EndProcess("a1", gen::Reason::Normal());
    CHECK(app.EventuallyStopped());
    CHECK(app.notes.All() == Lines{"+a1", "+a2", "-a1 normal", "-a2 shutdown"});
    CHECK(app.test.node.StopReason() == gen::Reason::Normal());
    CHECK(app.test.log.Contains("application 'a' has ended: normal, and the node with it"));
  }
  SUBCASE("killed") {
    REQUIRE(app.test.node.Kill(app.test.node.Resolve("a2").value()));
    CHECK(app.EventuallyStopped());
    const gen::Reason why = app.test.node.StopReason();
    CHECK(why.IsFailure());
    CHECK(why.ToString() == "application 'a' has ended: a2 has ended: killed");
    CHECK(app.test.log.Count("the node stops: " + why.ToString()) == 1);
  }
  SUBCASE("one that has cut its link") {
    const gen::PID pid = app.test.node.Resolve("a1").value();
    REQUIRE(app.test.Run(pid, [](Subject& self) { CHECK(self.Unlink(self.Parent())); }));
    app.EndProcess("a1", gen::Reason::Error("failure"));
    CHECK(app.EventuallyStopped());
  }
  SUBCASE("a failure, and somebody stops the application that ends because of it") {
    kit::ThreadGate gate;
    auto spec = app.Spec("b", {}, ApplicationMode::kPermanent);
    spec.processes[0].factory =
        Make({.terminate = [enter = gate.Holder()](Subject&, const gen::Reason&) { enter(); }});
    app.Load(spec);
    REQUIRE(app.test.node.StartApplication("b"));
    app.EndProcess("b2", gen::Reason::Error("failure"));
    CHECK(Eventually([&] { return gate.Entered() == 1; }));
    std::thread stops([&] {
      (void)app.test.node.StopApplication("b", 1ms);
      gate.Open();
    });
    CHECK(Eventually([&] { return app.test.node.StopReason().IsFailure(); }));
    stops.join();
    CHECK(app.test.node.StopReason().ToString() ==
          "application 'b' has ended: b2 has ended: failure");
  }
  SUBCASE("stopped on demand") {
    REQUIRE(app.test.node.StopApplication("a"));
    CHECK(app.test.node.StartApplication("a"));
    CHECK(app.test.node.StopReason() == gen::Reason::Normal());  // it runs
  }
}

TEST_CASE("application: who does not end in time is killed; a stop may be given up waiting for") {
  std::atomic<bool> go{false};
  AppNode app;
  auto spec = app.Spec("a");
  spec.processes[0].factory = Make({.terminate = [&](Subject& self, const gen::Reason&) {
    while (!go.load() && self.Sleep(1ms)) {
    }
  }});
  spec.processes[0].shutdown_timeout = gen::kInfinite;
  spec.processes[1].factory =
      Make({.terminate = [](Subject& self, const gen::Reason&) { (void)self.Sleep(1h); }});
  spec.processes[1].shutdown_timeout = 1ms;
  app.Load(spec);
  REQUIRE(app.test.node.StartApplication("a"));
  CHECK(app.test.node.StopApplication("a", 20ms).error() == gen::ErrTimeout);
  CHECK(app.EventuallyState("a", ApplicationState::kStopping));
  CHECK(app.test.node.StartApplication("a").error() == gen::ErrNotAllowed);
  // Asked for again while it is ending, this waits for the end.
  std::jthread opener([&, stopper = gettid()] {
    CHECK(Eventually([&] { return kit::Sleeps(stopper); }));
    go = true;
  });
  CHECK(app.test.node.StopApplication("a"));
  CHECK(app.EventuallyState("a", ApplicationState::kLoaded));
  CHECK(app.test.log.Contains("is killed: it has not ended within 1 ms"));
}

TEST_CASE("application: the node stops them first, in reverse order of their start") {
  AppNode app;
  app.Load(app.Spec("b"));
  app.Load(app.Spec("a", {"b"}));
  app.test.node.SpawnRegister("before", Make(app.Noting())).value();
  REQUIRE(app.test.node.StartApplication("a"));
  app.test.node.SpawnRegister("after", Make(app.Noting())).value();
  app.test.node.Stop();
  CHECK(app.notes.All() == Lines{"+before", "+b1", "+b2", "+a1", "+a2", "+after", "-a2 shutdown",
                                 "-a1 shutdown", "-b2 shutdown", "-b1 shutdown", "-after shutdown",
                                 "-before shutdown"});
  CHECK(app.test.node.StartApplication("a").error() == gen::ErrNodeTerminated);
}

TEST_CASE("application: started by two threads at once, it runs once") {
  AppNode app;
  app.Load(app.Spec("a"));
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto result = app.test.node.StartApplication("a");
      if (result) {
        ++started;
      } else {
        CHECK(result.error() == gen::ErrNotAllowed);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(started == 1);
  CHECK(app.notes.All() == Lines{"+a1", "+a2"});
}

TEST_CASE("application: what is called at its start and its end, and why it has ended") {
  AppNode app;
  auto spec = app.Spec("a");
  spec.when_started = [&](gen::Node& node) {
    app.notes.Add("started, with " + std::to_string(node.Info().processes > 2));
    CHECK(node.StopApplication("a").error() == gen::ErrNotAllowed);  // would block
  };
  spec.when_ended = [&](gen::Node& node, const gen::Reason& reason) {
    app.notes.Add("ended: " + reason.ToString());
    CHECK(!node.Resolve("a1"));
  };
  app.Load(spec);
  CHECK(!app.test.node.ApplicationInfo("a")->last_end);
  REQUIRE(app.test.node.StartApplication("a"));
  REQUIRE(app.test.node.StopApplication("a"));
  CHECK(app.notes.All() ==
        Lines{"+a1", "+a2", "started, with 1", "-a2 shutdown", "-a1 shutdown", "ended: shutdown"});
  CHECK(app.test.node.ApplicationInfo("a")->last_end == gen::Reason::Shutdown());
  // By the end of its processes.
  REQUIRE(app.test.node.StartApplication("a"));
  app.EndProcess("a1", gen::Reason::Normal());
  app.EndProcess("a2", gen::Reason::Normal());
  REQUIRE(app.EventuallyState("a", ApplicationState::kLoaded));
  CHECK(app.notes.All().back() == "ended: normal");
  CHECK(app.test.node.ApplicationInfo("a")->last_end == gen::Reason::Normal());
}

TEST_CASE("application: a callback that throws") {
  AppNode app;
  auto spec = app.Spec("a");
  bool fails = true;
  spec.when_started = [&](gen::Node&) {
    if (fails) throw std::runtime_error("no database");
  };
  spec.when_ended = [](gen::Node&, const gen::Reason&) { throw 7; };
  app.Load(spec);
  const auto started = app.test.node.StartApplication("a");
  CHECK(app.ErrorOf(started).find("when_started: no database") != std::string::npos);
  CHECK(app.State("a") == ApplicationState::kLoaded);
  CHECK(app.test.EventuallyProcesses(0));
  CHECK(app.notes.All() == Lines{"+a1", "+a2", "-a2 shutdown", "-a1 shutdown"});
  CHECK(app.test.node.ApplicationInfo("a")->last_end->ToString().find("no database") !=
        std::string::npos);
  fails = false;
  REQUIRE(app.test.node.StartApplication("a"));
  REQUIRE(app.test.node.StopApplication("a"));  // what the other throws is logged
  CHECK(app.test.log.Contains("when_ended: an exception of type int"));
}

TEST_CASE("application: mode, environment and log level of one start") {
  AppNode app;
  auto spec = app.Spec("a");
  spec.environment = {{"x", "1"}, {"y", "1"}};
  spec.log_level = gen::LogLevel::kError;
  app.Load(spec);
  REQUIRE(app.test.node.StartApplication("a", {.mode = ApplicationMode::kPermanent,
                                               .environment = {{"y", 2}},
                                               .log_level = gen::LogLevel::kTrace}));
  const auto info = app.test.node.ApplicationInfo("a").value();
  CHECK(info.mode == ApplicationMode::kPermanent);
  CHECK(info.log_level == gen::LogLevel::kTrace);
  const gen::PID first = app.test.node.Resolve("a1").value();
  gen::PID grandchild;
  REQUIRE(app.test.Run(first, [&](Subject& self) {
    CHECK(self.Env("x") == "1");
    CHECK(self.Env<int>("y") == 2);
    grandchild = self.Spawn(Make({})).value();
    CHECK(self.LogLevel() == gen::LogLevel::kTrace);
  }));
  const auto process = app.test.node.ProcessInfo(grandchild).value();
  CHECK(process.log_level == gen::LogLevel::kTrace);
  CHECK(process.application == gen::Atom("a"));
  CHECK(app.test.node.ProcessInfo(first)->application == gen::Atom("a"));
  CHECK(app.test.node.ProcessInfo(app.test.Spawn())->application.empty());
  REQUIRE(app.test.node.StopApplication("a"));  // asked for: the node goes on, permanent or not
  const auto later = app.test.node.ApplicationInfo("a").value();
  CHECK(later.mode == ApplicationMode::kTemporary);
  CHECK(later.environment == gen::Environment{{"x", "1"}, {"y", "1"}});
  CHECK(later.log_level == gen::LogLevel::kError);
  CHECK(app.ErrorOf(
            app.test.node.StartApplication("a", {.log_level = static_cast<gen::LogLevel>(77)})) ==
        "log_level: 77, must be a LogLevel");
  CHECK(
      app.ErrorOf(app.test.node.StartApplication("a", {.mode = static_cast<ApplicationMode>(9)})) ==
      "mode: 9, must be an ApplicationMode");
}

TEST_CASE("application: stopped by force while it starts") {
  AppNode app;
  std::atomic<bool> handles{false};
  std::atomic<bool> start_has_failed{false};
  // Its handler heeds nothing until the start has failed.
  const Handlers busy{.init =
                          [&](Subject& self, const gen::Args&) {
                            app.notes.Add("+" + self.Name().ToString());
                            self.Send(self.Self(), 1).value();
                            return gen::Continue();
                          },
                      .message =
                          [&](Subject&, gen::PID, gen::Message&) {
                            const gen::Blocking blocking;
                            handles = true;
                            start_has_failed.wait(false);
                            return gen::Continue();
                          }};
  app.Load(
      {.name = "a",
       .processes = {{.name = "first", .factory = Make(busy)},
                     {.name = "hangs",
                      .factory = Make({.init = [](Subject& self, const gen::Args&) -> gen::Status {
                        if (!self.Sleep(1h)) return gen::Stop(gen::Reason::Normal());
                        return gen::Continue();
                      }}),
                      .options = {.init_timeout = gen::kInfinite}}}});
  std::thread starts([&] {
    CHECK_FALSE(app.test.node.StartApplication("a"));
    start_has_failed = true;
    start_has_failed.notify_all();
  });
  CHECK(Eventually([&] { return handles.load(); }));  // "first" runs
  CHECK(app.test.node.StopApplicationForce("a"));
  CHECK(app.test.node.Info().processes == 0);
  starts.join();
  CHECK(app.State("a") == ApplicationState::kLoaded);
}

TEST_CASE("application: stopped by force while it starts, it can be unloaded at once") {
  AppNode app;
  for (int round = 0; round < kit::Scaled(200, 20); ++round) {
    std::atomic<bool> hangs{false};
    app.Load({.name = "a",
              .processes = {
                  {.factory = Make({.init = [&](Subject& self, const gen::Args&) -> gen::Status {
                     hangs = true;
                     if (!self.Sleep(1h)) return gen::Stop(gen::Reason::Normal());
                     return gen::Continue();
                   }}),
                   .options = {.init_timeout = gen::kInfinite}}}});
    kit::Threads starts;
    starts.Start([&] { CHECK_FALSE(app.test.node.StartApplication("a")); });
    REQUIRE(Eventually([&] { return hangs.load(); }));
    CHECK(app.test.node.StopApplicationForce("a"));
    CHECK(app.test.node.UnloadApplication("a"));
  }
}

TEST_CASE("application: stopped by force in the last moment of its start, the node goes on") {
  AppNode app;
  kit::ThreadGate gate;
  auto spec = app.Spec("a", {}, ApplicationMode::kPermanent);
  spec.when_started = [enter = gate.Holder()](gen::Node&) { enter(); };
  app.Load(spec);
  std::thread starts([&] { (void)app.test.node.StartApplication("a"); });
  CHECK(Eventually([&] { return gate.Entered() == 1; }));
  std::jthread opens([&, stopper = gettid()] {
    CHECK(Eventually([&] { return kit::Sleeps(stopper); }));
    gate.Open();
  });
  CHECK(app.test.node.StopApplicationForce("a"));
  starts.join();
  CHECK(app.State("a") == ApplicationState::kLoaded);
  CHECK(app.test.IsAlive(app.test.Spawn()));
}

TEST_CASE("application: who sends it messages cannot fill the log") {
  AppNode app;
  app.Load(app.Spec("a", {}, ApplicationMode::kPermanent));
  REQUIRE(app.test.node.StartApplication("a"));
  const auto application = app.test.node.ProcessInfo(app.test.node.Resolve("a1").value())->parent;
  constexpr int kMessages = 100;
  for (int i = 0; i < kMessages; ++i) CHECK(app.test.node.Send(application, i));
  REQUIRE(Eventually(
      [&] { return app.test.node.ProcessInfo(application)->messages_handled == kMessages; }));
  REQUIRE(app.test.node.StopApplication("a"));
  CHECK(app.test.log.Count("unhandled message") == gen::LogLimit::kLines);
  CHECK(app.test.log.Contains("90 lines about messages that nobody handles were left out"));
}

TEST_CASE("application: stopped by force, at once, also while it is being stopped") {
  AppNode app;
  auto spec = app.Spec("a", {}, ApplicationMode::kPermanent);
  for (auto& process : spec.processes) {
    process.factory =
        Make({.terminate = [](Subject& self, const gen::Reason&) { (void)self.Sleep(1h); }});
    process.shutdown_timeout = gen::kInfinite;
  }
  app.Load(spec);
  CHECK(app.test.node.StopApplicationForce("a").error() == gen::ErrNotAllowed);
  REQUIRE(app.test.node.StartApplication("a"));
  REQUIRE(app.test.node.StopApplicationForce("a"));
  CHECK(app.State("a") == ApplicationState::kLoaded);
  CHECK(app.test.node.ApplicationInfo("a")->last_end == gen::Reason::Kill());
  REQUIRE(app.test.node.StartApplication("a"));
  CHECK(app.test.node.StopApplication("a", 1ms).error() == gen::ErrTimeout);
  REQUIRE(app.test.node.StopApplicationForce("a"));
  CHECK(app.test.node.ApplicationInfo("a")->last_end == gen::Reason::Kill());
  // Its master knew of their ends a moment before these were over.
  CHECK(app.test.EventuallyProcesses(0));
  CHECK(app.test.node.StopApplicationForce("b").error() == gen::ErrProcessUnknown);
  CHECK(app.test.IsAlive(app.test.Spawn()));  // the node goes on
}

TEST_CASE("application: that the node kills all is no failure of an application") {
  constexpr auto kMode = ApplicationMode::kPermanent;
  AppNode app{.notes = {}, .test = TestNode({.shutdown_timeout = 10ms})};
  app.Load(app.Spec("a", {}, kMode));
  REQUIRE(app.test.node.StartApplication("a"));
  SUBCASE("by force") { app.test.node.StopForce(); }
  SUBCASE("when its time is over, before all are asked") {
    auto spec = app.Spec("b", {}, kMode);
    spec.processes[1].factory =
        Make({.terminate = [](Subject& self, const gen::Reason&) { (void)self.Sleep(1h); }});
    spec.processes[1].shutdown_timeout = gen::kInfinite;
    app.Load(spec);
    REQUIRE(app.test.node.StartApplication("b"));
    app.test.node.Stop();
  }
  CHECK(app.test.node.Info().processes == 0);
  CHECK_FALSE(app.test.log.Contains("has ended: killed"));
  CHECK_FALSE(app.test.log.Contains("the node stops already"));
}

TEST_CASE("application: a process that fails while the node stops is told of") {
  std::atomic<bool> hangs{false};
  std::atomic<bool> goes_on{false};
  AppNode app{.notes = {}, .test = TestNode({.shutdown_timeout = kit::kDeadline * 10})};
  app.Load(app.Spec("a", {}, ApplicationMode::kPermanent));
  REQUIRE(app.test.node.StartApplication("a"));
  auto spec = app.Spec("b");
  spec.processes[1].factory = Make({.terminate = [&](Subject& self, const gen::Reason&) {
    hangs = true;
    while (!goes_on && self.Sleep(1ms)) continue;
  }});
  spec.processes[1].shutdown_timeout = gen::kInfinite;
  app.Load(spec);
  REQUIRE(app.test.node.StartApplication("b"));
  std::thread stops([&] { app.test.node.Stop(); });
  CHECK(Eventually([&] { return hangs.load(); }));
  CHECK(app.test.node.Send("a1", End{gen::Reason::Error("failure")}));
  CHECK(Eventually([&] {
    return app.test.log.Contains(
        "the node stops already: application 'a' has ended: a1 has ended: failure");
  }));
  goes_on = true;
  stops.join();
}

// As a value in what is the user's: asks the node while it is copied and destroyed.
struct AsksForApplications {
  explicit AsksForApplications(gen::Node& asked) : node(&asked) {}
  AsksForApplications(const AsksForApplications& other) : node(other.node) { Ask(); }
  AsksForApplications& operator=(const AsksForApplications&) = delete;
  ~AsksForApplications() { Ask(); }
  void Ask() const { (void)node->Applications(); }
  gen::Node* node;
};

TEST_CASE("application: what is in its spec may ask the node while it is copied and destroyed") {
  AppNode app;
  auto spec = app.Spec("a");
  spec.when_started = [asks = AsksForApplications(app.test.node)](gen::Node&) { asks.Ask(); };
  app.Load(spec);
  CHECK(app.test.node.LoadApplication(spec).error() == gen::ErrTaken);
  CHECK(app.test.node.StartApplication("a", {.log_level = gen::LogLevel::kDebug}));
  CHECK(app.test.node.StopApplication("a"));
  CHECK(app.test.node.StartApplication("a"));
  CHECK(app.test.node.StopApplication("a"));
  CHECK(app.test.node.UnloadApplication("a"));
  CHECK(app.test.node.Applications().empty());
}

}  // namespace
}  // namespace ergon::node
