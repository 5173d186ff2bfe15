// What other nodes may run here: how it is registered, and how one Ergon node spawns on another. What Erlang sees of
// it: cluster_test.escript.
#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/erlang/terms/writer.h>

#include <cluster/client.h>
#include <cluster/cluster.h>
#include <cluster/gen_call.h>
#include <kit/gate.h>

namespace ergon::dist {
namespace {

// Runs the only function that is registered, in a process of a node.
gen::Result<Term> RunOnce(const RemoteFunctions& functions, const std::vector<Term>& arguments) {
  std::promise<gen::Result<Term>> outcome;
  auto* const told = &outcome;
  auto node = node::Start("code@localhost").value();
  node.Spawn([&functions, &arguments, told](gen::Process& self) {
        told->set_value(functions.All().front().run(self, arguments));
      })
      .value();
  return outcome.get_future().get();
}

// The error of a node that is started with these options.
std::string StartError(const ErlangOptions& options) {
  kit::LogCapture log;
  const auto node = TryStart("refused_code@127.0.0.1", log, options);
  return node ? std::string() : node.error().ToString();
}

class Idle : public act::Actor {};

// Its Init: {fail}, {sleep, Milliseconds}, or nothing. A message ends it.
class Started : public act::Actor {
  gen::Status Init(const gen::Args& args) override {
    const auto term = args.Get<Term>(0);
    if (!term) return gen::Continue();
    if (term->AsAtomText() == "fail") return gen::Stop(gen::Reason::Error("no such file"));
    Sleep(std::chrono::milliseconds(term->AsInteger().value_or(0)));
    return gen::Continue();
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    return gen::Stop(gen::Reason::Error("told_so"));
  }
};

// Ends as soon as its Init is done.
class Brief : public act::Actor {
  gen::Status Init(const gen::Args&) override {
    return Send(Self(), 1) ? gen::Continue() : gen::Stop(gen::Reason::Error("no message"));
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    return gen::Stop(gen::Reason::Error("brief"));
  }
};

// Its Init waits at a gate.
class Held : public act::Actor {
 public:
  explicit Held(std::function<void()> wait) : wait_(std::move(wait)) {}

 private:
  gen::Status Init(const gen::Args&) override {
    wait_();
    return gen::Continue();
  }
  const std::function<void()> wait_;
};

// The last reference in front of a word.
std::string ReferenceBefore(std::string_view said, std::string_view word) {
  std::string_view reference;
  for (std::size_t at = said.find(word); at != std::string_view::npos && at-- > 0;) {
    if (ControlReader(said.substr(at), 100).ReadReference(reference)) return std::string(reference);
  }
  return {};
}

ErlangOptions OptionsOfSpawn() {
  ErlangOptions options = ClusterOptions();
  options.max_remote_processes = 3;
  options.behaviors
      .Register("remote", "start", gen::Factory<Started>(), {.init_timeout = gen::kInfinite})
      .Register("remote", "brief", gen::Factory<Brief>());
  return options;
}

// A function that sleeps for ever, and tells that it runs and that it has ended.
struct Sleepers {
  std::atomic<int> running{0};
  std::atomic<int> ended{0};
};
ErlangOptions OptionsOfCalls(Sleepers& sleepers) {
  ErlangOptions options = ClusterOptions();
  options.max_remote_processes = 3;
  options.tick_time = 4s;  // and in each quarter of that a node looks who waits no more
  options.functions
      .Register("words", "repeat",
                [](const std::string& text, int times) -> gen::Result<std::vector<std::string>> {
                  if (times < 0) return gen::Error(gen::ErrorCode::kProcessMailboxFull);
                  if (times == 0) return gen::Error("no words");
                  return std::vector<std::string>(static_cast<std::size_t>(times), text);
                })
      .Register("words", "nothing", [] {})
      .Register("words", "throws", [](int) -> int { throw std::runtime_error("thrown"); })
      .Register("words", "sleep", [&sleepers](gen::Process& self) {
        ++sleepers.running;
        (void)self.Sleep(1h);
        ++sleepers.ended;
      });
  return options;
}

}  // namespace

TEST_CASE("remote code: a function of another Ergon node is called") {
  Sleepers sleepers;
  Cluster cluster("calls_code", OptionsOfCalls(sleepers));
  const gen::Atom b = cluster.b.Name();
  const auto by_both = [&](gen::Messenger& self) {
    const auto twice = Rpc(self, b, "words", "repeat", {Term::Of("to be"), 2});
    REQUIRE(twice);
    CHECK(twice->ToString() == R"([<<"to be">>,<<"to be">>])");
    CHECK(Rpc(self, b, "words", "nothing", {}).value() == Term::Atom("ok"));
    const auto negative = Rpc(self, b, "words", "repeat", {Term::Of("x"), -1});
    CHECK(negative.error() == gen::ErrProcessMailboxFull);
    const auto own = Rpc(self, b, "words", "repeat", {Term::Of("x"), 0});
    CHECK(own.error().code() == gen::ErrorCode::kApplication);
    CHECK(own.error().ToString() == "no words");
    const auto unfit = Rpc(self, b, "words", "repeat", {1, 2});
    CHECK(unfit.error() == gen::ErrIncorrect);
    CHECK(unfit.error().detail() == "argument 1: expected a binary, found 1");
    const auto thrown = Rpc(self, b, "words", "throws", {1});
    CHECK(thrown.error() == gen::ErrProcessTerminated);
    CHECK(thrown.error().ToString().find("thrown") != std::string::npos);
    const auto unknown = Rpc(self, b, "words", "repeat", {1});
    CHECK(unknown.error() == gen::ErrUnsupported);
    CHECK(unknown.error().detail() ==
          "calls_codeb@127.0.0.1 has registered no function words:repeat/1");
  };
  by_both(cluster.a);
  InProcess(cluster.a, by_both);
  CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
}

// A node whose functions sleep, and a peer that says byte by byte what this test wants.
struct Asked {
  static ErlangOptions Listening(ErlangOptions options) {
    options.listen_port = FreePort();
    return options;
  }
  Asked() {
    REQUIRE(asker.ShakeHands("asker@127.0.0.1", "asked_code@127.0.0.1"));
    AppendReference(reference, 5, pid.node, pid.creation);
  }

  Sleepers sleepers;
  const ErlangOptions options = Listening(OptionsOfCalls(sleepers));
  kit::LogCapture log;
  node::Node node = Cluster::Start("asked_code@127.0.0.1", log, options);
  Client asker{static_cast<std::uint16_t>(options.listen_port)};
  const gen::PID pid{7, "asker@127.0.0.1", 77};
  std::string reference;
};

TEST_CASE_FIXTURE(Asked,
                  "remote code: a second call with the reference of one that runs is refused") {
  std::string call;
  TermWriter writer(call);
  BeginGenCall(writer, pid, reference);
  writer.Tuple(5);
  writer.Atom("call");
  writer.Atom("words");
  writer.Atom("sleep");
  writer.Nil();
  writer.Pid(pid);
  std::string frames;
  AppendFrame(frames, {.kind = SignalKind::kMonitor, .from = pid, .name = "rex", .ref = reference},
              kOwnFlags);
  const Signal request{
      .kind = SignalKind::kSendToName, .from = pid, .name = "rex", .payload = call};
  AppendFrame(frames, request, kOwnFlags);
  asker.Write(frames);
  REQUIRE(kit::Eventually([&] { return sleepers.running == 1; }));
  frames.clear();
  AppendFrame(frames, request, kOwnFlags);
  asker.Write(frames);
  std::string said;
  while (said.find("running already") == std::string::npos) said += asker.Read();
  CHECK(said.find("badrpc") != std::string::npos);
  CHECK(sleepers.running == 1);
  asker.Close();
  CHECK(kit::Eventually([&] { return sleepers.ended == 1; }));
  CHECK(kit::Eventually([&] { return node.ProcessList().empty(); }));
  node.Stop();
  kit::CheckBalance(node);
}

TEST_CASE_FIXTURE(Asked,
                  "remote code: of two functions with one reference none outlives the connection") {
  // As erpc:call does it.
  std::string arguments;
  TermWriter writer(arguments);
  writer.List(4);
  writer.Raw(reference);
  writer.Atom("words");
  writer.Atom("sleep");
  writer.Nil();
  writer.Nil();
  std::string frame;
  AppendFrame(frame,
              {.kind = SignalKind::kSpawnRequest,
               .from = pid,
               .ref = reference,
               .payload = arguments,
               .module = "erpc",
               .function = "execute_call",
               .arity = 4,
               .links = kMonitored},
              kOwnFlags);
  asker.Write(frame + frame);
  CHECK(kit::Eventually([&] { return node.Info().processes_spawned == 2; }));
  CHECK(kit::Eventually([&] { return node.ProcessList().size() == 1; }));
  asker.Close();
  CHECK(kit::Eventually([&] { return node.ProcessList().empty(); }));
}

// What they return takes room that their caller has to make.
TEST_CASE("remote code: functions are not run while their caller does not take their results") {
  constexpr int kCalls = 200;
  constexpr std::size_t kResult = 256 * 1024;
  std::atomic<int> runs = 0;
  ErlangOptions options = ClusterOptions();
  options.functions.Register("words", "much", [&] {
    ++runs;
    return std::string(kResult, 'x');
  });
  options.tick_time = 1h;  // the client reads for long, and says nothing meanwhile
  options.listen_port = FreePort();
  gen::NodeOptions two;
  two.workers = 2;
  kit::LogCapture log;
  auto node = TryStart("much@127.0.0.1", log, options, two).value();
  Client asker(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(asker.ShakeHands("asker@127.0.0.1", "much@127.0.0.1"));
  const gen::PID pid{7, "asker@127.0.0.1", 77};
  std::string frames;
  for (int i = 0; i < kCalls; ++i) {
    std::string reference;
    AppendReference(reference, static_cast<std::uint64_t>(i) + 1, pid.node, pid.creation);
    std::string call;
    TermWriter writer(call);
    BeginGenCall(writer, pid, reference);
    writer.Tuple(5);
    for (const char* word : {"call", "words", "much"}) writer.Atom(word);
    writer.Nil();
    writer.Pid(pid);
    AppendFrame(frames,
                {.kind = SignalKind::kMonitor, .from = pid, .name = "rex", .ref = reference},
                kOwnFlags);
    AppendFrame(frames,
                {.kind = SignalKind::kSendToName, .from = pid, .name = "rex", .payload = call},
                kOwnFlags);
  }
  asker.Write(frames);
  const auto queued = [&] { return InspectConnections(node)[0].queued_bytes; };
  REQUIRE(kit::Eventually([&] { return queued() >= options.send_queue_bytes; }));
  CHECK(runs < kCalls);
  std::size_t taken = 0;
  while (taken < kCalls * kResult) taken += asker.Read().size();
  CHECK(runs == kCalls);
  CHECK(InspectConnections(node)[0].most_queued_bytes < 3 * options.send_queue_bytes);
  asker.Close();
  CHECK(kit::Eventually([&] { return node.ProcessList().empty(); }));
  node.Stop();
  kit::CheckBalance(node);
}

TEST_CASE("remote code: a function ends with its call, and a call with its function") {
  Sleepers sleepers;
  Cluster cluster("ends_code", OptionsOfCalls(sleepers));
  const gen::Atom b = cluster.b.Name();
  CHECK(Ping(cluster.a, b));
  const auto call = [&](gen::Messenger& self, std::chrono::nanoseconds timeout) {
    return Rpc(self, b, "words", "sleep", {}, {.timeout = timeout});
  };
  const auto spawn = [&](std::atomic<int>& code) {
    return cluster.a
        .Spawn([&](gen::Process& self) {
          const auto outcome = call(self, 1min);
          code = outcome ? -1 : static_cast<int>(outcome.error().code());
        })
        .value();
  };
  InProcess(cluster.a, [&](gen::Process& self) {
    // Until the function has begun before the time is up.
    for (auto timeout = 50ms; sleepers.running == 0; timeout *= 2) {
      const gen::Error error = call(self, timeout).error();
      // Those before may not have begun yet, and three are the most.
      CHECK((error == gen::ErrTimeout || error == gen::ErrBusy));
    }
    CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
    CHECK(sleepers.ended == sleepers.running);
  });
  const int timed_out = sleepers.running;
  // The end of the caller.
  std::atomic<int> ignored{0};
  const gen::PID caller = spawn(ignored);
  REQUIRE(kit::Eventually([&] { return sleepers.running == timed_out + 1; }));
  CHECK(cluster.a.SendExit(caller, gen::Reason::Kill()));
  CHECK(kit::Eventually([&] { return sleepers.ended == timed_out + 1; }));
  REQUIRE(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
  // The end of the function's process.
  std::atomic<int> killed{0};
  (void)spawn(killed);
  REQUIRE(kit::Eventually([&] { return cluster.b.ProcessList().size() == 1; }));
  CHECK(cluster.b.SendExit(cluster.b.ProcessList().front(), gen::Reason::Kill()));
  CHECK(kit::Eventually(
      [&] { return killed == static_cast<int>(gen::ErrorCode::kProcessTerminated); }));
  // There are three at most; and a lost connection ends them.
  const int before = sleepers.running;
  std::vector<std::atomic<int>> lost(3);
  for (auto& code : lost) (void)spawn(code);
  REQUIRE(kit::Eventually([&] { return sleepers.running == before + 3; }));
  CHECK(call(cluster.a, kit::kDeadline).error() == gen::ErrBusy);
  CHECK(Disconnect(cluster.a, b));
  for (auto& code : lost) {
    CHECK(kit::Eventually([&] { return code == static_cast<int>(gen::ErrorCode::kNoConnection); }));
  }
  CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
}

TEST_CASE("remote code: arguments and results are values as in messages") {
  RemoteFunctions functions;
  functions.Register("m", "f", [](const std::string& text, std::vector<int> numbers, Line line) {
    return std::vector<std::string>{text, line.text, std::to_string(numbers.at(1))};
  });
  CHECK(functions.All().front().arity == 3);
  const auto result =
      RunOnce(functions, {Term::Of("a"), Term::List({1, 2}), Term::Of(Line{1, "text"})});
  CHECK(result.value().ToString() == R"([<<"a">>,<<"text">>,<<"2">>])");
}

TEST_CASE("remote code: an argument that does not fit is named") {
  RemoteFunctions functions;
  functions.Register("m", "f", [](int, const Line&) { return 1; });
  CHECK(RunOnce(functions, {Term::Atom("x"), Term::Atom("y")}).error().detail() ==
        "argument 1: expected an integer of -2147483648..2147483647, found x");
  const auto second = RunOnce(functions, {1, Term::Tuple({Term::Atom("line"), 1, 2})});
  CHECK(second.error() == gen::ErrIncorrect);
  CHECK(second.error().detail() == "argument 2: line.2: expected a binary, found 2");
}

TEST_CASE(
    "remote code: a function may return nothing, a result, a term; and it knows its process") {
  RemoteFunctions nothing;
  nothing.Register("m", "f", [] {});
  CHECK(RunOnce(nothing, {}).value() == Term::Atom("ok"));
  RemoteFunctions fails;
  fails.Register("m", "f", []() -> gen::Result<void> { return gen::ErrTimeout; });
  CHECK(RunOnce(fails, {}).error() == gen::ErrTimeout);
  RemoteFunctions term;
  term.Register("m", "f", [](const Term& any) -> gen::Result<Term> { return any; });
  CHECK(RunOnce(term, {Term::List({1})}).value() == Term::List({1}));
  RemoteFunctions self;
  self.Register("m", "f",
                [](gen::Process& process, int add) { return process.Sleep(1ms) ? add + 1 : 0; });
  CHECK(self.All().front().arity == 1);
  CHECK(RunOnce(self, {41}).value() == Term(42));
  RemoteFunctions infinite;
  infinite.Register("m", "f", [] { return 1e308 * 10; });
  CHECK(RunOnce(infinite, {}).error().detail().starts_with("result: "));
}

TEST_CASE("remote code: what is wrong with it is told when the node starts") {
  ErlangOptions twice = ClusterOptions();
  twice.functions.Register("m", "f", [](int) {}).Register("m", "f", [](int, int) {});
  CHECK(StartError(twice).empty());
  twice.functions.Register("m", "f", [](const std::string&) {});
  CHECK(StartError(twice).find("functions: m:f of the same arguments twice") != std::string::npos);

  ErlangOptions nameless = ClusterOptions();
  nameless.functions.Register("m", "", [] {});
  CHECK(StartError(nameless).find("functions: 'm:' has an empty name") != std::string::npos);
  ErlangOptions long_name = ClusterOptions();
  long_name.functions.Register(std::string(256, 'x'), "f", [] {});
  CHECK(StartError(long_name).find("functions: xxx") != std::string::npos);
  ErlangOptions empty_function = ClusterOptions();
  empty_function.functions.RegisterAny("m", "f", nullptr);
  CHECK(StartError(empty_function).find("functions: m:f is empty") != std::string::npos);

  ErlangOptions same = ClusterOptions();
  same.behaviors.Register("m", "f", gen::Factory<Idle>()).Register("m", "f", gen::Factory<Idle>());
  CHECK(StartError(same).find("behaviors: m:f twice") != std::string::npos);
  ErlangOptions empty_factory = ClusterOptions();
  empty_factory.behaviors.Register("m", "f", gen::ProcessFactory());
  CHECK(StartError(empty_factory).find("behaviors: m:f is empty") != std::string::npos);
  ErlangOptions none = ClusterOptions();
  none.max_remote_processes = 0;
  CHECK(StartError(none).find("max_remote_processes") != std::string::npos);
}

TEST_CASE("remote code: a process is spawned on another Ergon node") {
  Cluster cluster("spawns", OptionsOfSpawn());
  InProcess(cluster.a, [&](gen::Process& self) {
    self.SetTrapExit(true);
    const auto pid = Spawn(self, cluster.b.Name(), "remote", "start", {1, Term::Of("text")});
    REQUIRE(pid);
    CHECK(pid->node == cluster.b.Name());
    const auto ref = self.Monitor(*pid);
    REQUIRE(ref);
    CHECK(self.Send(*pid, 1));
    const auto down = self.Receive<gen::MessageDownPID>(kit::kDeadline);
    REQUIRE(down);
    CHECK(down->reason.ToString() == "told_so");

    const auto linked = Spawn(self, cluster.b.Name(), "remote", "start", {}, {.link = true});
    REQUIRE(linked);
    CHECK(self.Send(*linked, 1));
    const auto exit = self.Receive<gen::MessageExitPID>(kit::kDeadline);
    REQUIRE(exit);
    CHECK(exit->pid == *linked);
    CHECK(exit->reason.ToString() == "told_so");
  });
  CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
}

TEST_CASE("remote code: a spawn on another node fails with words") {
  Cluster cluster("failing", OptionsOfSpawn());
  InProcess(cluster.a, [&](gen::Process& self) {
    const gen::Atom other = cluster.b.Name();
    const auto unknown = Spawn(self, other, "remote", "unknown", {});
    CHECK(unknown.error() == gen::ErrUnsupported);
    CHECK(unknown.error().ToString().find("notsup") != std::string::npos);
    // Often: its end and the question whether its Init is done meet.
    for (int i = 0; i < 100; ++i) {
      const auto failed = Spawn(self, other, "remote", "start", {Term::Atom("fail")});
      REQUIRE(!failed);
      REQUIRE(failed.error() == gen::ErrProcessTerminated);
      REQUIRE(failed.error().ToString().find("no such file") != std::string::npos);
    }
    CHECK(Spawn(self, cluster.a.Name(), "remote", "start", {}).error() == gen::ErrIncorrect);
    CHECK(Spawn(self, "nobody@127.0.0.1", "remote", "start", {}).error() == gen::ErrNoConnection);
    // What is no atom would end the connection.
    for (const std::string& name : {std::string(300, 'x'), std::string("\xff")}) {
      const auto module = Spawn(self, other, name, "start", {});
      CHECK(module.error() == gen::ErrIncorrect);
      CHECK(module.error().detail().find("dist::Spawn: module: ") == 0);
      const auto function = Rpc(self, other, "remote", name, {});
      CHECK(function.error() == gen::ErrIncorrect);
      CHECK(function.error().detail().find("dist::Rpc: function: ") == 0);
    }

    std::vector<gen::PID> pids;
    for (int i = 0; i < 3; ++i) pids.push_back(Spawn(self, other, "remote", "start", {}).value());
    CHECK(Spawn(self, other, "remote", "start", {}).error() == gen::ErrBusy);
    for (const gen::PID pid : pids) CHECK(self.Send(pid, 1));
    CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
    CHECK(Spawn(self, other, "remote", "start", {}));
  });
}

TEST_CASE("remote code: a process on another node is monitored from its beginning") {
  Cluster cluster("monitored_code", OptionsOfSpawn());
  InProcess(cluster.a, [&](gen::Process& self) {
    const gen::Atom other = cluster.b.Name();
    const auto spawn = [&](SpawnOptions options = {}) {
      return SpawnMonitored(self, other, "remote", "start", {}, options).value();
    };
    const auto expect = [&](const Monitored& spawned, const char* reason) {
      const auto down = self.Receive<gen::MessageDownPID>(kit::kDeadline).value();
      CHECK(down.pid == spawned.pid);
      CHECK(down.ref == spawned.monitor);
      CHECK(down.reason.ToString() == reason);
    };
    const Monitored ends = spawn();
    CHECK(self.Send(ends.pid, 1));
    expect(ends, "told_so");
    // One that nobody watches any more.
    const Monitored unwatched = spawn();
    CHECK(self.Demonitor(unwatched.monitor));
    CHECK(self.Send(unwatched.pid, 1));
    const Monitored lost = spawn();
    CHECK(Disconnect(cluster.a, other));
    expect(lost, "noconnection");
    const auto failed = SpawnMonitored(self, other, "remote", "start", {Term::Atom("fail")});
    CHECK(failed.error() == gen::ErrProcessTerminated);
    CHECK(!self.Receive<gen::MessageDownPID>(0ns));
    self.SetTrapExit(true);
    const Monitored both = spawn({.link = true});
    CHECK(self.Send(both.pid, 1));
    expect(both, "told_so");
    CHECK(self.Receive<gen::MessageExitPID>(kit::kDeadline).value().pid == both.pid);
  });
}

TEST_CASE(
    "remote code: a process that ends as soon as its Init is done was spawned, and its end is "
    "told") {
  Cluster cluster("brief_code", OptionsOfSpawn());
  InProcess(cluster.a, [&](gen::Process& self) {
    self.SetTrapExit(true);
    for (int i = 0; i < 200; ++i) {
      const bool links = i % 2 == 0;
      const auto spawned =
          SpawnMonitored(self, cluster.b.Name(), "remote", "brief", {}, {.link = links});
      REQUIRE_MESSAGE(spawned, spawned.error().ToString());
      const auto down = self.Receive<gen::MessageDownPID>(kit::kDeadline).value();
      CHECK(down.pid == spawned->pid);
      CHECK(down.reason.ToString() == "brief");
      if (!links) continue;
      const auto exit = self.Receive<gen::MessageExitPID>(kit::kDeadline).value();
      CHECK(exit.pid == spawned->pid);
      CHECK(exit.reason.ToString() == "brief");
    }
  });
  CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
}

TEST_CASE("remote code: a link is lost once, also before its process has heard that it is there") {
  for (const bool is_ergon : {true, false}) {
    CAPTURE(is_ergon);
    ErlangOptions options = ClusterOptions();
    options.listen_port = FreePort();
    gen::NodeOptions two;
    two.workers = 2;
    kit::LogCapture log;
    const std::string name = is_ergon ? "late_own@127.0.0.1" : "late@127.0.0.1";
    auto node = TryStart(name, log, options, two).value();
    const gen::PID child{9, "there@127.0.0.1", 77};
    Client there(static_cast<std::uint16_t>(options.listen_port));
    REQUIRE(there.ShakeHands(child.node.ToString(), name,
                             is_ergon ? kOwnFlags : kOwnFlags & ~kFlagErgon));
    REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
    std::vector<std::string> told;
    const gen::PID caller =
        node.Spawn([&](gen::Process& self) {
              self.SetTrapExit(true);
              if (!SpawnMonitored(self, child.node, "remote", "start", {}, {.link = true})) return;
              const auto hear = [&](std::chrono::nanoseconds timeout) {
                const auto got = self.Receive<gen::MessageExitPID, gen::MessageDownPID>(timeout);
                if (!got) return false;
                const auto* exit = std::get_if<gen::MessageExitPID>(&*got);
                told.push_back(exit != nullptr
                                   ? "exit " + exit->reason.ToString()
                                   : "down " +
                                         std::get<gen::MessageDownPID>(*got).reason.ToString());
                return true;
              };
              if (!hear(20s) || !hear(20s)) return;
              // What an attempt to link itself anew would bring is there when that fails.
              if (Ping(self, child.node)) return;
              while (hear(0ns)) {
              }
            })
            .value();
    std::string said;
    while (ReferenceBefore(said, "remote").empty()) said += there.Read();
    const std::string reference = ReferenceBefore(said, "remote");
    // The process goes on when the connection is lost.
    auto unanswered = node.CallAsync<std::int64_t>(gen::ProcessID{"anybody", child.node}, Sum{});
    kit::ThreadGate gate;
    for (int held = 0; held < two.workers; ++held) {
      REQUIRE(node.Spawn([&](gen::Process&) { gate.Enter(); }));
    }
    REQUIRE(kit::Eventually([&] { return gate.Entered() == two.workers; }));
    std::string pid;
    TermWriter(pid).Pid(child);
    std::string frames;
    AppendFrame(frames,
                {.kind = SignalKind::kSpawnReply,
                 .from = child,
                 .to = caller,
                 .ref = reference,
                 .payload = pid,
                 .links = kLinked | kMonitored},
                kOwnFlags);
    std::string ready;
    TermWriter writer(ready);
    writer.Tuple(2);
    writer.Raw(reference);
    writer.Atom("ok");
    if (is_ergon) {
      AppendFrame(
          frames,
          {.kind = SignalKind::kSendToAlias, .from = child, .ref = reference, .payload = ready},
          kOwnFlags);
    }
    there.Write(frames);
    there.Close();
    CHECK(unanswered.get().error() == gen::ErrNoConnection);
    gate.Open();
    CHECK(node.WaitProcess(caller));
    std::sort(told.begin(), told.end());
    CHECK(told == std::vector<std::string>{"down noconnection", "exit noconnection"});
    node.Stop();
    kit::CheckBalance(node);
  }
}

TEST_CASE("remote code: a peer that answers before it says whom it started makes no link") {
  ErlangOptions options = ClusterOptions();
  options.listen_port = FreePort();
  kit::LogCapture log;
  auto node = TryStart("hasty_own@127.0.0.1", log, options).value();
  const gen::Atom peer("hasty@127.0.0.1");
  Client there(static_cast<std::uint16_t>(options.listen_port));
  REQUIRE(there.ShakeHands(peer.ToString(), "hasty_own@127.0.0.1", kOwnFlags));
  REQUIRE(kit::Eventually([&] { return Nodes(node).size() == 1; }));
  std::string why;
  std::size_t links = 1;
  const gen::PID caller =
      node.Spawn([&](gen::Process& self) {
            const auto spawned = SpawnMonitored(self, peer, "remote", "start", {}, {.link = true});
            why = spawned ? "it was spawned" : spawned.error().detail();
            links = self.Node().ProcessInfo(self.Self()).value().links.size();
          })
          .value();
  std::string said;
  while (ReferenceBefore(said, "remote").empty()) said += there.Read();
  const std::string reference = ReferenceBefore(said, "remote");
  std::string ready;
  TermWriter writer(ready);
  writer.Tuple(2);
  writer.Raw(reference);
  writer.Atom("ok");
  std::string frames;
  AppendFrame(
      frames,
      {.kind = SignalKind::kSendToAlias, .from = {9, peer, 77}, .ref = reference, .payload = ready},
      kOwnFlags);
  there.Write(frames);
  CHECK(node.WaitProcess(caller, kit::kDeadline));
  CHECK(why == "hasty@127.0.0.1 has answered before it has said which process it started");
  CHECK(links == 0);
  there.Close();
}

TEST_CASE("remote code: a process whose Init is not done when the connection is lost ends") {
  kit::ThreadGate gate;
  ErlangOptions options = ClusterOptions();
  options.behaviors.Register("remote", "held",
                             gen::Factory<Held>(std::function<void()>(gate.Holder())));
  Cluster cluster("lost_init", options);
  const gen::PID caller = cluster.a
                              .Spawn([&](gen::Process& self) {
                                CHECK(Spawn(self, cluster.b.Name(), "remote", "held", {}).error() ==
                                      gen::ErrNoConnection);
                              })
                              .value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  CHECK(Disconnect(cluster.a, cluster.b.Name()));
  CHECK(cluster.a.WaitProcess(caller));
  REQUIRE(kit::Eventually([&] { return Nodes(cluster.b).empty(); }));
  CHECK(kit::Eventually([&] { return cluster.b.ProcessList().size() == 1; }));
  gate.Open();
  CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
}

TEST_CASE("remote code: a node that has registered nothing refuses at once") {
  Cluster cluster("nothing");
  InProcess(cluster.a, [&](gen::Process& self) {
    const auto refused =
        Spawn(self, cluster.b.Name(), "remote", "start", {}, {.call = {.timeout = gen::kInfinite}});
    CHECK(refused.error() == gen::ErrUnsupported);
  });
}

TEST_CASE("remote code: who waits no more for a spawn has no process on the other node") {
  // Its node looks now and then who waits no more: before its Init is done, or never in this test.
  for (const bool looks : {true, false}) {
    CAPTURE(looks);
    kit::ThreadGate gate;
    ErlangOptions options = OptionsOfSpawn();
    options.behaviors.Register("remote", "held",
                               gen::Factory<Held>(std::function<void()>(gate.Holder())));
    if (looks) options.tick_time = 4s;
    Cluster cluster(looks ? "abandoned" : "answered", options);
    CHECK(Ping(cluster.a, cluster.b.Name()));
    const auto before = cluster.b.Info().processes_spawned;
    InProcess(cluster.a, [&](gen::Process& self) {
      constexpr int kHour = 3'600'000;  // nothing but the look ends it
      const gen::CallOptions call{.timeout = 100ms};
      const gen::Atom b = cluster.b.Name();
      const auto late =
          looks ? Spawn(self, b, "remote", "start", {kHour}, {.link = true, .call = call})
                : Spawn(self, b, "remote", "held", {}, {.link = true, .call = call});
      CHECK(late.error() == gen::ErrTimeout);
      CHECK(kit::Eventually([&] { return cluster.b.Info().processes_spawned > before; }));
      gate.Open();
      // Whether it lives on does not depend on the caller's end.
      CHECK(kit::Eventually([&] { return cluster.b.ProcessList().empty(); }));
    });
  }
}

}  // namespace ergon::dist
