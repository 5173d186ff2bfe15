// How a node stops when its program gets a signal: in programs of their own.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kit/child.h>
#include <kit/gate.h>
#include <kit/supervisor.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// Whether both signals are caught, which the kernel tells.
bool CatchesSignals() {
  constexpr std::uint64_t kBoth = 1ull << (SIGINT - 1) | 1ull << (SIGTERM - 1);
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    if (key != "SigCgt:") continue;
    std::string mask;
    status >> mask;
    return (std::stoull(mask, nullptr, 16) & kBoth) == kBoth;
  }
  return false;
}

void Tell(int pipe, char what) { CHECK(write(pipe, &what, 1) == 1); }

// The child's part: it says 'r' when it can be signalled, 't' when a process ends in order, 'k'
// when one is killed, 's' when the node has stopped.
TEST_CASE("stop: signalled child" * doctest::skip()) {
  const int out = std::atoi(std::getenv("ERGON_TEST_PIPE"));
  const char* const manner = std::getenv("ERGON_TEST_MANNER");
  const bool alone = manner != nullptr && std::string(manner) == "alone";
  const bool stubborn = manner != nullptr && !alone;
  const bool stuck = stubborn && std::string(manner) == "stuck";
  std::signal(SIGINT, SIG_DFL);  // the test framework catches them as well
  std::signal(SIGTERM, SIG_DFL);
  TestNode t({.stop_on_signal = alone, .shutdown_timeout = kit::kDeadline * 10});
  const gen::PID pid = t.Spawn({.terminate = [&](Subject&, const gen::Reason& reason) {
    Tell(out, reason == gen::Reason::Kill() ? 'k' : 't');
  }});
  t.Spawn();
  if (stubborn) {
    std::atomic<bool> begun{false};
    t.Begin(pid, [&](Subject& self) {
      begun = true;
      if (stuck) std::this_thread::sleep_for(std::chrono::hours(1));
      (void)self.Sleep(gen::kInfinite);
    });
    CHECK(kit::Eventually([&] { return stuck ? begun.load() : t.IsWaiting(pid); }));
  }
  std::thread announcer([&] {
    CHECK(kit::Eventually([] { return CatchesSignals(); }));
    Tell(out, 'r');
    if (!stubborn) return;
    CHECK(kit::Eventually([&] { return t.IsStopping(); }));
    Tell(out, 'b');  // stopping has begun
  });
  if (alone) {
    t.node.Wait();
  } else {
    CHECK(t.node.WaitForSignal());
  }
  announcer.join();
  CHECK(t.node.StopReason() == gen::Reason::Shutdown());
  Tell(out, 's');
}

class SignalledChild {
 public:
  // `manner`: null, alone (NodeOptions::stop_on_signal), stubborn, or stuck.
  explicit SignalledChild(const char* manner) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    in_ = ends[0];
    const std::string out = std::to_string(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // a stubborn one would outlive a test that crashes
      setenv("ERGON_TEST_PIPE", out.c_str(), 1);
      if (manner != nullptr) setenv("ERGON_TEST_MANNER", manner, 1);
      execl("/proc/self/exe", "ergon_node_tests", "--test-case=stop: signalled child", "--no-skip",
            "--minimal", static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
  }
  ~SignalledChild() {
    close(in_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      (void)waitpid(pid_, nullptr, 0);
    }
  }
  SignalledChild(const SignalledChild&) = delete;
  SignalledChild& operator=(const SignalledChild&) = delete;

  void Signal(int signal) { CHECK(kill(pid_, signal) == 0); }
  // The next thing it says; 0 when it has ended; '?' when it does neither.
  char Read() {
    pollfd ready{in_, POLLIN, 0};
    const int patience = static_cast<int>(std::chrono::milliseconds(kit::kDeadline).count());
    if (poll(&ready, 1, patience) != 1) return '?';
    char what = 0;
    return read(in_, &what, 1) == 1 ? what : '\0';
  }
  // As waitpid tells; -1: it has not ended.
  int ExitStatus() {
    int status = -1;
    if (!kit::Eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
    pid_ = 0;
    return status;
  }

 private:
  int in_ = -1;
  pid_t pid_ = 0;
};

TEST_CASE("stop: WaitForSignal, or the option, stops in order on SIGINT and SIGTERM") {
  for (const char* manner : {static_cast<const char*>(nullptr), "alone"}) {
    for (const int signal : {SIGINT, SIGTERM}) {
      CAPTURE(signal);
      SignalledChild child(manner);
      CHECK(child.Read() == 'r');
      child.Signal(signal);
      CHECK(child.Read() == 't');
      CHECK(child.Read() == 's');
      CHECK(child.ExitStatus() == 0);
    }
  }
}

TEST_CASE("stop: a second signal is immediate") {
  SignalledChild child("stubborn");
  CHECK(child.Read() == 'r');
  child.Signal(SIGINT);
  CHECK(child.Read() == 'b');  // waits for a process that sleeps for ever
  child.Signal(SIGINT);
  CHECK(child.Read() == 'k');
  CHECK(child.Read() == 's');
  CHECK(child.ExitStatus() == 0);
}

TEST_CASE("stop: a second signal is immediate when a handler is stuck, too") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    SignalledChild child("stuck");
    CHECK(child.Read() == 'r');
    child.Signal(signal);
    CHECK(child.Read() == 'b');
    child.Signal(signal);
    CHECK(child.Read() == 0);
    const int status = child.ExitStatus();
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
  }
}

TEST_CASE("stop: child with a handler that is stuck" * doctest::skip()) {
  kit::ChildBegins();
  const bool returns = std::getenv("ERGON_TEST_RETURNS") != nullptr;
  std::atomic<bool> is_named{false};  // that the node waits for it
  gen::NodeOptions options{.workers = 2, .shutdown_timeout = 1ms, .shutdown_deadline = 100ms};
  if (returns) {
    options.shutdown_timeout = kit::kDeadline;
    options.shutdown_deadline = 10 * kit::kDeadline;
    options.log_sink = [&](gen::LogLevel, const std::string& line) {
      std::cerr << line << '\n';
      if (line.find("stopping: waits for ") != std::string::npos) is_named = true;
    };
  }
  Node node = Start("test@localhost", options).value();
  std::atomic<bool> begun{false};
  const gen::PID pid = node.SpawnRegister("stuck", Make({})).value();
  node.Send(pid, Do{[&](Subject&) {
              begun = true;
              while (!returns) std::this_thread::sleep_for(1h);
              CHECK(kit::Eventually([&] { return is_named.load(); }));
            }})
      .value();
  std::thread signaller([&] {
    CHECK(kit::Eventually([&] { return begun && CatchesSignals(); }));
    (void)kill(getpid(), SIGTERM);
  });
  CHECK(node.WaitForSignal());
  signaller.join();
}

// Each of them after the one before.
void CheckParts(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts) {
    CAPTURE(text);
    CAPTURE(part);
    const std::size_t found = text.find(part, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
}

TEST_CASE("stop: a handler that is stuck is named, and at the deadline the program ends") {
  kit::Child child("stop: child with a handler that is stuck");
  const std::string told = child.Errors();
  const int status = child.Status();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == gen::kExitStuck);
  CheckParts(told,
             {"SIGTERM: the node stops", "the node stops: it has 1 process",
              "1 process has not ended within 1 ms, and is killed: <test@localhost.", "'stuck' ",
              "::Subject", "has not ended: <test@localhost.", "'stuck' ", "::Subject, running",
              "not stopped within 100 ms: the program ends, with the exit status 70",
              "test@localhost has run for ", "::Subject"});
}

TEST_CASE("stop: a signal, its beginning, whom it waits for, and its end are in the log") {
  setenv("ERGON_TEST_RETURNS", "1", 1);
  kit::Child child("stop: child with a handler that is stuck");
  unsetenv("ERGON_TEST_RETURNS");
  const std::string told = child.Errors();
  CHECK(child.Status() == 0);
  CheckParts(told, {"SIGTERM: the node stops", "the node stops: it has 1 process",
                    "stopping: waits for <test@localhost.", "'stuck' ", "::Subject, running",
                    "all processes have ended, after "});
}

TEST_CASE(
    "stop: of a tree the log names who is at work, not only the supervisor that waits for it") {
  std::chrono::nanoseconds timeout = 1ms;
  const char* line = "3 processes have not ended within 1 ms, and are killed: ";
  std::vector<const char*> parts = {"'slow' ", "::Subject, running: int for ", " messages wait, ",
                                    "SpecSupervisor", "(all together: "};
  SUBCASE("when they are killed") {}
  SUBCASE("while they are waited for") {
    timeout = 1h;
    line = "stopping: waits for ";
    parts = {"SpecSupervisor, idle, which waits for <test@localhost.", "'slow' ",
             "::Subject, running: int for ", " messages wait"};
  }
  kit::ThreadGate gate;
  TestNode t({.log_level = gen::LogLevel::kDebug, .shutdown_timeout = timeout});
  const auto factory = Make({.message = [enter = gate.Holder()](Subject&, gen::PID, gen::Message&) {
    enter();
    return gen::Continue();
  }});
  REQUIRE(t.node.Spawn(kit::MakeSupervisor(
      {.children = {{.name = "idle", .factory = Make({})},
                    {.name = "slow", .factory = factory, .shutdown_timeout = gen::kInfinite}}})));
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(gen::Atom("slow"), i));
  CHECK(kit::Eventually([&] { return gate.Entered() == 1; }));
  std::jthread opener([&] {
    CHECK(kit::Eventually([&] { return t.log.Contains(line); }));
    gate.Open();
  });
  t.node.Stop();
  opener.join();
  for (const kit::LogCapture::Line& told : t.log.Lines()) {
    if (told.text.find(line) == std::string::npos) continue;
    for (const char* part : parts) {
      CAPTURE(told.text);
      CAPTURE(part);
      CHECK(told.text.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("stop: WaitForSignal returns when somebody else stops the node") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  std::thread waiter([&] { CHECK(t.node.WaitForSignal()); });
  t.Begin(pid, [](Subject& self) {
    (void)self.Sleep(1ms);
    self.Node().Stop();
  });
  waiter.join();
  CHECK(t.node.Info().processes == 0);
}

}  // namespace
}  // namespace ergon::node
