// Ports: programs of the operating system as processes of the node.
#include <ergon/node/port.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <ergon/act/pool.h>
#include <ergon/act/supervisor.h>

#include <kit/descriptors.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node::port_test {
namespace {

// Not even a zombie.
bool IsGone(pid_t id) { return kill(id, 0) != 0 && errno == ESRCH; }

// A program is gone, or at least nothing but a zombie that is another one's child.
bool HasDied(pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  return text.substr(text.rfind(')') + 2, 1) == "Z";
}

// What an owner was told.
struct Heard {
  std::vector<PortData> data;
  std::vector<PortExit> exits;

  [[nodiscard]] std::string Bytes(PortOutput which = PortOutput::kOutput) const {
    std::string bytes;
    for (const PortData& one : data) {
      if (one.which == which) bytes += one.bytes;
    }
    return bytes;
  }
};

// A process that owns ports, and notes what it is told. Declared before the node: helpers of ports are
// still there while that ends.
class Notebook {
 public:
  [[nodiscard]] Handlers Owner() {
    return {.message = [this](Subject&, gen::PID, gen::Message& message) {
      while (closed) {
        held = true;
        std::this_thread::sleep_for(100us);
      }
      std::lock_guard lock(mutex_);
      if (auto* data = message.As<PortData>()) {
        Heard& told = all_[data->port];
        CHECK(told.exits.empty());
        told.data.push_back(std::move(*data));
      } else if (auto* exit = message.As<PortExit>()) {
        all_[exit->port].exits.push_back(*exit);
      }
      return gen::Continue();
    }};
  }
  [[nodiscard]] Heard Of(gen::PID port) {
    std::lock_guard lock(mutex_);
    return all_[port];
  }
  [[nodiscard]] bool IsOver(gen::PID port) {
    return kit::Eventually([&] { return !Of(port).exits.empty(); });
  }
  [[nodiscard]] bool Has(gen::PID port, const std::string& bytes) {
    return kit::Eventually([&] { return Of(port).Bytes() == bytes; });
  }

  std::atomic<bool> closed{false};  // keeps its owner's handler
  std::atomic<bool> held{false};    // it has kept it

 private:
  std::mutex mutex_;
  std::map<gen::PID, Heard> all_;
};

// Everything that the tests start, on a node of its own; afterwards nothing of it is left.
class Ports {
 public:
  Ports() = default;
  ~Ports() {
    node_.reset();
    CHECK(kit::OpenDescriptors() == descriptors_);
    // No child at all.
    CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
  }
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  TestNode& operator*() { return *node_; }
  TestNode* operator->() { return node_.get(); }
  gen::Node& node() { return node_->node; }

  gen::Result<gen::PID> Open(PortOptions options, const gen::ProcessOptions& process = {}) {
    options.owner = owner;
    return node().Spawn(Port(std::move(options)), process);
  }
  gen::PID Shell(std::string script, PortOptions options = {}) {
    options.program = "sh";
    options.arguments = {"-c", std::move(script)};
    return Open(std::move(options)).value();
  }
  // Of the process that runs now, or has.
  [[nodiscard]] pid_t OsPid(gen::PID port) {
    return std::stoi(node().Inspect(port, {"os_pid"}).value().at("os_pid"));
  }
  // Waits for the end, and returns its reason.
  std::string Reason(gen::PID port) {
    std::string reason;
    CHECK(node_->Run(watcher_, [&](Subject& self) { self.Monitor(port).value(); }));
    CHECK(kit::Eventually([&] {
      std::lock_guard lock(mutex_);
      const auto found = reasons_.find(port);
      if (found != reasons_.end()) reason = found->second;
      return found != reasons_.end();
    }));
    return reason;
  }
  // As Reason, for a port that may end at any moment: asks to be told before it is let go.
  void Watch(gen::PID port) {
    CHECK(node_->Run(watcher_, [&](Subject& self) { self.Monitor(port).value(); }));
  }

 private:
  const std::ptrdiff_t descriptors_ = kit::OpenDescriptors();
  std::mutex mutex_;
  std::map<gen::PID, std::string> reasons_;

 public:
  Notebook notes;

 private:
  std::unique_ptr<TestNode> node_ = std::make_unique<TestNode>();
  const gen::PID watcher_ =
      node_->Spawn({.message = [this](Subject&, gen::PID, gen::Message& message) {
        const auto down = message.Take<gen::MessageDownPID>();
        std::lock_guard lock(mutex_);
        // Of the two that may be there, the first one knows the reason.
        reasons_.emplace(down.pid, down.reason.ToString());
        return gen::Continue();
      }});

 public:
  const gen::PID owner = node_->Spawn(notes.Owner());
};

TEST_CASE("port: cat echoes lines in order") {
  Ports ports;
  const gen::PID port = ports.Open({.program = "cat", .lines = 100}).value();
  ports.Watch(port);
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string line = "line " + std::to_string(i);
    expected += line;
    REQUIRE(ports.node().Send(port, PortInput{line + "\n"}));
  }
  CHECK(ports.node().Call(port, PortInput{"the last"}, kPatient) == std::size_t{8});
  ports.node().Send(port, PortCloseInput{}).value();
  CHECK(ports.Reason(port) == "normal");
  REQUIRE(ports.notes.IsOver(port));
  const Heard told = ports.notes.Of(port);
  REQUIRE(told.data.size() == 101);
  CHECK(told.Bytes() == expected + "the last");
  CHECK(told.data[7].bytes == "line 7");
  CHECK(told.data[7].ends_line);
  CHECK_FALSE(told.data.back().ends_line);
  CHECK(told.exits.front().code == 0);
  CHECK(told.exits.front().signal == 0);
}

TEST_CASE("port: lines that are too long come in pieces, and both streams are told apart") {
  Ports ports;
  const gen::PID port = ports.Shell("printf '12345678901234\\n\\n1234\\nab'; echo wrong >&2",
                                    {.errors = PortStream::kPipe, .lines = 4});
  REQUIRE(ports.notes.IsOver(port));
  std::vector<std::pair<std::string, bool>> output;
  const Heard told = ports.notes.Of(port);
  for (const PortData& data : told.data) {
    if (data.which == PortOutput::kOutput) output.emplace_back(data.bytes, data.ends_line);
  }
  const std::vector<std::pair<std::string, bool>> expected{
      {"1234", false}, {"5678", false}, {"9012", false}, {"34", true},
      {"", true},      {"1234", true},  {"ab", false}};
  CHECK(output == expected);
  CHECK(told.Bytes(PortOutput::kErrors) == "wrong");

  const gen::PID merged =
      ports.Shell("echo one; echo two >&2; echo three", {.errors = PortStream::kAsOutput});
  REQUIRE(ports.notes.IsOver(merged));
  CHECK(ports.notes.Of(merged).Bytes() == "one\ntwo\nthree\n");
}

TEST_CASE("port: ten megabytes go through cat, and a slow owner is not flooded") {
  constexpr std::size_t kBytes = 10'000'000;
  Ports ports;
  ports.notes.closed = true;
  const gen::PID port = ports.Open({.program = "cat", .window = 8}).value();
  const std::string part(100'000, 'x');
  for (std::size_t i = 0; i < kBytes / part.size(); ++i) {
    ports.node().Send(port, PortInput{part}).value();
  }
  ports.node().Send(port, PortCloseInput{}).value();
  // All stand still, the program too: the port is suspended in a write.
  const auto waiting = [&] { return ports.node().ProcessInfo(ports.owner)->messages_queued; };
  REQUIRE(kit::Eventually([&] { return waiting() >= 4 && ports->IsWaiting(port); }));
  const auto before = ports.node().ProcessInfo(port)->messages_queued;
  CHECK(before > 50);
  CHECK(waiting() <= 8);
  ports.notes.closed = false;
  REQUIRE(ports.notes.IsOver(port));
  CHECK(ports.notes.Of(port).Bytes().size() == kBytes);
}

TEST_CASE("port: an owner with a small mailbox loses nothing, whatever it does when that is full") {
  Notebook notes;
  Ports ports;
  for (const gen::Overflow overflow :
       {gen::Overflow::kReject, gen::Overflow::kDropNewest, gen::Overflow::kDropOldest}) {
    CAPTURE(static_cast<int>(overflow));
    notes.closed = true;
    const gen::PID owner =
        ports->Spawn(notes.Owner(), {.mailbox = gen::Mailbox::Bounded(2, overflow)});
    const gen::PID port =
        ports.node()
            .Spawn(Port({.program = "seq", .arguments = {"200"}, .lines = 20, .owner = owner}))
            .value();
    REQUIRE(kit::Eventually([&] { return ports.node().ProcessInfo(owner)->messages_queued >= 1; }));
    notes.closed = false;
    REQUIRE(notes.IsOver(port));
    const Heard told = notes.Of(port);
    REQUIRE(told.data.size() == 200);
    for (int i = 0; i < 200; ++i) {
      if (told.data[static_cast<std::size_t>(i)].bytes != std::to_string(i + 1)) FAIL(i);
    }
  }
}

TEST_CASE("port: status and signal are the exit and the reason") {
  Ports ports;
  // Each waits for its input's end, so that it is watched in time.
  const auto run = [&](const std::string& script) {
    const gen::PID port = ports.Shell("read line; " + script);
    ports.Watch(port);
    ports.node().Send(port, PortCloseInput{}).value();
    const std::string reason = ports.Reason(port);
    REQUIRE(ports.notes.IsOver(port));
    return std::pair(ports.notes.Of(port).exits.front(), reason);
  };
  auto [three, reason_of_three] = run("exit 3");
  CHECK(three.code == 3);
  CHECK(three.signal == 0);
  CHECK(reason_of_three == "sh exited with status 3");
  auto [killed, reason_of_killed] = run("kill -KILL $$");
  CHECK(killed.code == -1);
  CHECK(killed.signal == SIGKILL);
  CHECK(reason_of_killed == "sh was ended by signal SIGKILL");
  auto [normal, reason_of_normal] = run("true");
  CHECK(normal.code == 0);
  CHECK(reason_of_normal == "normal");
  CHECK(PortExit{.signal = 40}.ToString() == "was ended by signal 40");
  CHECK(PortExit{}.ToString() == "has ended with an unknown status");
}

TEST_CASE("port: output and exit come before the end of the port to an owner that is busy") {
  Notes<std::string> words;
  TestNode t;
  const gen::PID owner = t.Spawn({.init =
                                      [](Subject& self, const gen::Args&) {
                                        self.SetTrapExit(true);
                                        return gen::Continue();
                                      },
                                  .message =
                                      [&](Subject&, gen::PID, gen::Message& message) {
                                        words.Add(message.Is<PortData>()              ? "output"
                                                  : message.Is<PortExit>()            ? "over"
                                                  : message.Is<gen::MessageExitPID>() ? "exit"
                                                                                      : "down");
                                        return gen::Continue();
                                      }});
  constexpr gen::NoticeOrder kInOrder = gen::NoticeOrder::kInOrder;
  std::atomic<bool> is_over{false};
  Notes<gen::PID> ports;
  t.Begin(owner, [&](Subject& self) {
    // It waits for its input's end, so that it is watched in time.
    const gen::PID port =
        self.Spawn(
                Port({.program = "sh", .arguments = {"-c", "read l; echo a; echo b"}, .lines = 9}))
            .value();
    CHECK(self.Monitor(port, {.order = kInOrder}));
    CHECK(self.Link(port, {.order = kInOrder}));
    CHECK(self.Send(port, PortCloseInput{}));
    ports.Add(port);
    while (!is_over) CHECK(self.Sleep(1ms));
  });
  REQUIRE(kit::Eventually([&] { return ports.size() == 1; }));
  // Not only gone: its links are told after its monitors.
  CHECK(t.Ended(ports.All().front()));
  CHECK(words.size() == 0);
  is_over = true;
  REQUIRE(kit::Eventually([&] { return words.size() == 5; }));
  CHECK(words.All() == std::vector<std::string>{"output", "output", "over", "exit", "down"});
}

TEST_CASE("port: it ends when nobody watches its owner any more") {
  Ports ports;
  const gen::PID port =
      ports.Open({.program = "sleep", .arguments = {"1000"}, .output = PortStream::kNull}).value();
  int watches = 0;
  const gen::ProcessInfo info = ports.node().ProcessInfo(port).value();
  for (const gen::PID helper : info.links) {
    const auto what = ports.node().ProcessInfo(helper);
    if (!what || what->behavior.find("OwnerWatch") == std::string::npos) continue;
    ++watches;
    CHECK(ports.node().SendExit(helper, gen::Reason::Normal()));
  }
  CHECK(watches == 1);
  CHECK(ports->Ended(port));
}

TEST_CASE("port: messages that are none for it do not fill the log") {
  Ports ports;
  const gen::PID port = ports.Open({.program = "cat"}).value();
  for (int i = 0; i < 100; ++i) CHECK(ports.node().Send(port, i));
  ports.node().Send(port, PortCloseInput{}).value();
  REQUIRE(ports.notes.IsOver(port));
  CHECK(kit::Eventually([&] { return ports->log.Contains("were left out at the end"); }));
  CHECK(ports->log.Count("unhandled message int") < 50);
}

TEST_CASE("port: what cannot be started is told with its name and the reason") {
  Ports ports;
  const auto error = [&](PortOptions options) {
    auto port = ports.Open(std::move(options));
    REQUIRE_FALSE(port);
    CHECK(port.error() == gen::ErrProcessTerminated);
    return std::string(port.error().detail());
  };
  CHECK(error({.program = "no-such-program"}) ==
        "cannot start no-such-program: No such file or directory");
  CHECK(error({.program = "/dev/null"}) == "cannot start /dev/null: Permission denied");
  CHECK(error({.program = "/"}) == "cannot start /: Permission denied");
  CHECK(error({.program = "cat", .directory = "/nowhere"}) ==
        "cannot start cat: /nowhere: No such file or directory");
  CHECK(error({}) == "program: is empty");
  CHECK(error({.program = "cat", .lines = -1}) == "lines: -1, has to be in the range 0..16777216");
  CHECK(error({.program = "cat", .window = 0}) == "window: 0, has to be at least 1");
  CHECK(error({.program = "cat", .shutdown_timeout = -1ns}) ==
        "shutdown_timeout: -1ns, must not be negative");
  CHECK(error({.program = "cat", .environment = {{"a=b", "c"}}}) ==
        "environment: 'a=b' cannot be set");
  CHECK(error({.program = "cat", .output = PortStream::kAsOutput}) ==
        "output: kAsOutput is for errors only");
  CHECK(error({.program = "cat", .input = PortStream::kAsOutput}) ==
        "input: kAsOutput is for errors only");
  CHECK(error({.program = "cat", .arguments = {"a", std::string("b\0", 2)}}) ==
        "arguments[1]: has a null character");
  auto nobodys = ports.node().Spawn(Port({.program = "cat"}));
  REQUIRE_FALSE(nobodys);
  CHECK(nobodys.error().detail() ==
        "cannot start cat: owner: is missing: nobody would get its output");
}

TEST_CASE("port: environment, directory, and streams that are not piped") {
  Ports ports;
  setenv("ERGON_PORT_TEST", "own", 1);
  const auto output = [&](PortOptions options) {
    const gen::PID port = ports.Shell("echo $ERGON_PORT_TEST$OTHER; pwd; cat", std::move(options));
    CHECK(ports.notes.IsOver(port));
    return ports.notes.Of(port).Bytes();
  };
  CHECK(output({.directory = "/usr", .input = PortStream::kNull}) == "own\n/usr\n");
  CHECK(output({.environment = {{"ERGON_PORT_TEST", "its"}, {"OTHER", "+"}},
                .directory = "/",
                .input = PortStream::kNull}) == "its+\n/\n");
  CHECK(output({.environment = {{"OTHER", "alone"}, {"PATH", std::getenv("PATH")}},
                .clear_environment = true,
                .directory = "/",
                .input = PortStream::kNull}) == "alone\n/\n");
  unsetenv("ERGON_PORT_TEST");
  // No owner is needed for one without output.
  const gen::PID silent =
      ports.node()
          .Spawn(Port({.program = "cat", .input = PortStream::kPipe, .output = PortStream::kNull}))
          .value();
  CHECK(ports.node().Call(silent, PortInput{"lost"}, kPatient) == std::size_t{4});
  ports.node().Send(silent, PortCloseInput{}).value();
  CHECK(ports->Ended(silent));
}

TEST_CASE("port: the program has the three descriptors only, and default signals") {
  Ports ports;
  const int leak =
      open("/dev/null", O_RDONLY);  // NOLINT(android-cloexec-open): it is what is tested
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  const gen::PID descriptors =
      ports.Open({.program = "ls", .arguments = {"/proc/self/fd"}}).value();
  const gen::PID signals =
      ports.Open({.program = "grep", .arguments = {"Sig", "/proc/self/status"}}).value();
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  CHECK(close(leak) == 0);
  REQUIRE(ports.notes.IsOver(descriptors));
  CHECK(ports.notes.Of(descriptors).Bytes() == "0\n1\n2\n3\n");  // 3 is the folder itself
  REQUIRE(ports.notes.IsOver(signals));
  const std::string said = ports.notes.Of(signals).Bytes();
  const auto mask = [&](const std::string& name) {
    return std::stoull(said.substr(said.find(name) + name.size()), nullptr, 16);
  };
  CHECK(mask("SigBlk:\t") == 0);
  CHECK((mask("SigIgn:\t") & (1U << (SIGPIPE - 1))) == 0);
}

TEST_CASE("port: a program that closes its input is an error to callers and a line in the log") {
  Ports ports;
  const gen::PID port = ports.Shell("exec <&-; echo closed; sleep 1000", {.lines = 100});
  REQUIRE(ports.notes.Has(port, "closed"));
  auto written = ports.node().Call(port, PortInput{"anything"}, kPatient);
  REQUIRE_FALSE(written);
  CHECK(written.error().detail() ==
        "the program's input was closed after 0 of 8 bytes: Broken pipe");
  written = ports.node().Call(port, PortInput{"more"}, kPatient);
  REQUIRE_FALSE(written);
  CHECK(written.error().detail() == "the program's input is closed");
  ports.node().Send(port, PortInput{"x"}).value();
  ports.node().Send(port, PortInput{"y"}).value();
  auto unknown = ports.node().Call<int>(port, 5, kPatient);
  CHECK((!unknown && unknown.error() == gen::ErrUnsupported));
  CHECK(ports->log.Count("input for sh is lost") == 1);
  ports.node().Send(port, 5).value();
  // Its reason is what it was asked for.
  ports.Watch(port);
  ports.node().SendExit(port, gen::Reason::Shutdown()).value();
  CHECK(ports.Reason(port) == "shutdown");
  REQUIRE(ports.notes.IsOver(port));
  CHECK(ports.notes.Of(port).exits.front().signal == SIGTERM);
}

TEST_CASE("port: the end of the program is the end of its group, and of the rest of its output") {
  Ports ports;
  // The one has the pipes, too, and is in the group; the other has left it, and keeps them open.
  const gen::PID port = ports.Shell(
      "sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & read line; head -c 100000 "
      "/dev/zero; exit 0",
      {.lines = 50'000});
  REQUIRE(kit::Eventually([&] { return ports.notes.Of(port).data.size() == 2; }));
  ports.node().Send(port, PortInput{"\n"}).value();
  REQUIRE(ports.notes.IsOver(port));
  CHECK(ports->Ended(port));
  const Heard told = ports.notes.Of(port);
  REQUIRE(told.data.size() == 4);
  CHECK(told.Bytes().size() == 100'000 + told.data[0].bytes.size() + told.data[1].bytes.size());
  // Which of the two lines was first is not known.
  const pid_t one = std::stoi(told.data[0].bytes);
  const pid_t other = std::stoi(told.data[1].bytes);
  REQUIRE(kit::Eventually([&] { return HasDied(one) || HasDied(other); }));
  const pid_t daemon = HasDied(one) ? other : one;
  CHECK_FALSE(HasDied(daemon));
  CHECK(kill(daemon, SIGKILL) == 0);
}

TEST_CASE("port: who writes on when the program has ended does not put off the exit") {
  Ports ports;
  const gen::PID port =
      ports.Shell("setsid yes \"$(head -c 5000 /dev/zero | tr '\\0' y)\" & read line; exit 0",
                  {.lines = 10'000});
  REQUIRE(kit::Eventually([&] { return !ports.notes.Of(port).data.empty(); }));
  ports.node().Send(port, PortInput{"\n"}).value();
  REQUIRE(ports.notes.IsOver(port));
  CHECK(ports->Ended(port));  // and "yes" ends when it writes into the pipe that nobody reads
}

TEST_CASE(
    "port: a program that has gone to another process group is asked, and killed, all the same") {
  Ports ports;
  for (const bool kill : {true, false}) {
    CAPTURE(kill);
    const gen::PID port =
        ports
            .Open({.program = "python3",
                   .arguments = {"-c",
                                 "import os, time; os.setpgid(0, os.getpgid(os.getppid())); "
                                 "print('gone', flush=True); time.sleep(1000)"},
                   .lines = 100})
            .value();
    REQUIRE(ports.notes.Has(port, "gone"));
    const pid_t id = ports.OsPid(port);
    if (kill) {
      ports.node().Kill(port).value();
    } else {
      ports.node().SendExit(port, gen::Reason::Shutdown()).value();
    }
    CHECK(ports->Ended(port));
    CHECK(IsGone(id));
  }
}

TEST_CASE("port: the end of the program is the end of a write for which nobody makes room") {
  Ports ports;
  // Whoever has left its group keeps the input open, and does not read it.
  const gen::PID port = ports.Shell(
      "exec 3<&0; setsid sh -c 'echo $$; exec sleep 1000' <&3 & read line; exit 0", {.lines = 50});
  REQUIRE(kit::Eventually([&] { return ports.notes.Of(port).data.size() == 1; }));
  const pid_t daemon = std::stoi(ports.notes.Of(port).data[0].bytes);
  auto answer = ports.node().CallAsync<std::size_t>(
      port, PortInput{"\n" + std::string(1'000'000, 'x')}, {.timeout = kit::kDeadline});
  CHECK(ports.notes.IsOver(port));
  CHECK_FALSE(answer.get());
  CHECK(ports->Ended(port));
  CHECK(kill(daemon, SIGKILL) == 0);
}

TEST_CASE("port: the end of the program ends such a write also when a stop has been asked for") {
  Ports ports;
  const gen::PID port = ports.Shell(
      "trap '' TERM; exec 3<&0; setsid sh -c 'echo $$; exec sleep 1000' <&3 & echo $$; "
      "exec sleep 1000",
      {.lines = 50, .shutdown_timeout = gen::kInfinite});
  REQUIRE(kit::Eventually([&] { return ports.notes.Of(port).data.size() == 2; }));
  const Heard told = ports.notes.Of(port);
  const pid_t program = ports.OsPid(port);
  const pid_t first = std::stoi(told.data[0].bytes);
  const pid_t daemon = first == program ? std::stoi(told.data[1].bytes) : first;
  auto answer = ports.node().CallAsync<std::size_t>(port, PortInput{std::string(1'000'000, 'x')},
                                                    {.timeout = gen::kInfinite});
  REQUIRE(ports->EventuallyWaiting(port));
  std::thread kills([&, stopper = gettid()] {
    CHECK(kit::Eventually([&] { return kit::Sleeps(stopper); }));
    CHECK(kill(program, SIGKILL) == 0);
  });
  CHECK(ports.node().StopProcess(port, kit::kDeadline));
  kills.join();
  CHECK_FALSE(answer.get());
  CHECK(ports->Ended(port));
  CHECK(kill(daemon, SIGKILL) == 0);
}

TEST_CASE("port: an owner whose mailbox is full gets the exit when it has room, or the log does") {
  for (const bool waits : {true, false}) {
    CAPTURE(waits);
    Ports ports;
    const gen::PID owner = ports->Spawn(ports.notes.Owner(), {.mailbox_size = 2});
    const gen::PID port =
        ports.node()
            .Spawn(
                Port({.program = "sh",
                      .arguments = {"-c", "trap '' TERM; echo ready; read line; exec sleep 1000"},
                      .owner = owner,
                      .shutdown_timeout = waits ? std::chrono::nanoseconds(gen::kInfinite) : 1ms}))
            .value();
    REQUIRE(ports.notes.Has(port, "ready\n"));
    const pid_t program = ports.OsPid(port);
    ports.notes.closed = true;
    CHECK(ports.node().Send(owner, 1));
    REQUIRE(kit::Eventually([&] { return ports.notes.held.load(); }));
    // Its handler has this message, and keeps it: from here on nothing leaves the mailbox.
    CHECK(kit::Eventually([&] { return !ports.node().Send(owner, 1); }));
    ports.node().SendExit(port, gen::Reason::Shutdown()).value();
    if (waits) {
      CHECK(kill(program, SIGKILL) == 0);
      CHECK(kit::Eventually([&] { return IsGone(program); }));
      CHECK(ports.node().Inspect(port, {"state"}).value().at("state") == "stopping");
      ports.notes.closed = false;
      CHECK(ports.notes.IsOver(port));
    } else {
      CHECK(ports->Ended(port));
      CHECK(ports->log.Contains("is not told that sh was ended by signal SIGKILL: it has no room"));
      ports.notes.closed = false;
    }
    CHECK(ports->Ended(port));
  }
}

TEST_CASE("port: an owner that stashes all until the exit gets it") {
  for (const int window : {64, 40}) {
    CAPTURE(window);
    Notes<std::string> words;
    TestNode t;
    const gen::PID owner = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message& message) {
      if (message.Is<PortExit>()) {
        words.Add("over");
        self.UnstashAll();
      } else if (words.size() == 0) {
        self.Stash(message);
      } else {
        words.Add(message.Take<PortData>().bytes);
      }
      return gen::Continue();
    }});
    CHECK(t.node.Spawn(Port(
        {.program = "seq", .arguments = {"40"}, .lines = 9, .owner = owner, .window = window})));
    REQUIRE(kit::Eventually([&] { return words.size() == 41; }));
    CHECK(words.All()[0] == "over");
    CHECK(words.All()[40] == "40");
  }
}

TEST_CASE("port: an owner that passes other messages over gets its output all the same") {
  std::promise<int> received;
  TestNode t;
  const gen::PID owner = t.node
                             .Spawn([&](gen::Process& self) {
                               int lines = 0;
                               while (lines < 3 && self.Receive<PortData>(kit::kDeadline)) ++lines;
                               CHECK(self.Receive<PortExit>(kit::kDeadline));
                               received.set_value(lines);
                             })
                             .value();
  for (int i = 0; i < 40; ++i) CHECK(t.node.Send(owner, i));
  CHECK(t.node.Spawn(
      Port({.program = "seq", .arguments = {"3"}, .lines = 9, .owner = owner, .window = 64})));
  CHECK(received.get_future().get() == 3);
}

// One worker, which is slow.
class SlowPool final : public act::Pool {
 public:
  explicit SlowPool(std::atomic<int>* lines) : lines_(lines) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{
        .pool_size = 1,
        .worker_factory = Make({.message =
                                    [lines = lines_](Subject& self, gen::PID, gen::Message&) {
                                      (void)self.Sleep(1ms);
                                      ++*lines;
                                      return gen::Continue();
                                    }}),
        .admission_limit = 5ms};
  }
  std::atomic<int>* lines_;
};

TEST_CASE("port: an owner that is overloaded loses nothing") {
  std::atomic<int> handled{0};
  TestNode t;
  const gen::PID owner = t.node.Spawn(gen::Factory<SlowPool>(&handled)).value();
  // So that it knows how long its worker takes.
  for (int i = 0; i < 20; ++i) {
    // Where the machine was slow, it may have too much to do for a moment.
    REQUIRE(kit::Eventually([&] { return t.node.Send(owner, i).has_value(); }));
    REQUIRE(kit::Eventually([&] { return handled == i + 1; }));
  }
  CHECK(t.node.Spawn(
      Port({.program = "seq", .arguments = {"200"}, .lines = 9, .owner = owner, .window = 1000})));
  CHECK(kit::Eventually([&] { return handled == 20 + 201; }));
}

TEST_CASE("port: a stop closes the input, then asks, then kills with all children") {
  Ports ports;
  // Ends at the end of its input.
  const gen::PID polite = ports.Shell("trap '' TERM; cat; echo bye");
  REQUIRE(kit::Eventually([&] { return ports.OsPid(polite) > 0; }));
  ports.node().Send(polite, PortInput{"hello "}).value();
  REQUIRE(ports.notes.Has(polite, "hello "));
  CHECK(ports.node().StopProcess(polite, kit::kDeadline));
  REQUIRE(ports.notes.IsOver(polite));

  // Does something at SIGTERM, all of which is delivered.
  const gen::PID asked =
      ports.Shell("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.01; done");
  REQUIRE(ports.notes.Has(asked, "ready\n"));
  ports.Watch(asked);
  CHECK(ports.node().StopProcess(asked, kit::kDeadline));
  CHECK(ports.Reason(asked) == "normal");  // as StopProcess says
  REQUIRE(ports.notes.IsOver(asked));
  CHECK(ports.notes.Of(asked).Bytes() == "ready\nasked\n");
  CHECK(ports.notes.Of(asked).exits.front().code == 7);

  // Does not listen.
  const gen::PID deaf = ports.Shell("trap '' TERM; sleep 1000 & echo $!; echo $$; wait",
                                    {.lines = 100, .shutdown_timeout = 20ms});
  REQUIRE(kit::Eventually([&] { return ports.notes.Of(deaf).data.size() == 2; }));
  const Heard told = ports.notes.Of(deaf);
  CHECK(std::stoi(told.data[1].bytes) == ports.OsPid(deaf));
  ports.node().SendExit(deaf, gen::Reason::Error("enough")).value();
  CHECK(ports->Ended(deaf));
  CHECK(IsGone(std::stoi(told.data[1].bytes)));
  CHECK(kit::Eventually([&] { return HasDied(std::stoi(told.data[0].bytes)); }));
  REQUIRE(ports.notes.IsOver(deaf));
  CHECK(ports.notes.Of(deaf).exits.front().signal == SIGKILL);
  CHECK(ports->log.Contains("sh has not ended within 20 ms after SIGTERM: it is killed"));
}

TEST_CASE("port: a stop while the program does not read its input") {
  Ports ports;
  const gen::PID port =
      ports.Shell("trap '' TERM; echo ready; sleep 1000", {.lines = 100, .shutdown_timeout = 20ms});
  REQUIRE(ports.notes.Has(port, "ready"));
  auto answer = ports.node().CallAsync<std::size_t>(port, PortInput{std::string(1'000'000, 'x')},
                                                    {.timeout = gen::kInfinite});
  REQUIRE(ports->EventuallyWaiting(port));
  std::string reason;
  SUBCASE("in order") {
    CHECK(ports.node().StopProcess(port, kit::kDeadline));
    reason = "the program has not taken it within shutdown_timeout (";
  }
  SUBCASE("by an exit signal") {
    ports.node().SendExit(port, gen::Reason::Shutdown()).value();
    CHECK(ports->Ended(port));
    reason = "the port is being ended";
  }
  auto written = answer.get();
  REQUIRE_FALSE(written);
  const std::string why = written.error().ToString();
  CHECK(why.find("the program's input was closed after ") != std::string::npos);
  CHECK(why.find(reason) != std::string::npos);
  CHECK(ports.notes.IsOver(port));
}

TEST_CASE("port: it ends with its owner, however that ends") {
  Ports ports;
  for (const bool linked : {true, false}) {
    for (const bool kill : {true, false}) {
      CAPTURE(linked);
      CAPTURE(kill);
      gen::PID port;
      const gen::PID owner = ports->Spawn();
      CHECK(ports->Run(owner, [&](Subject& self) {
        port =
            self.Spawn(Port({.program = "sleep", .arguments = {"1000"}}), {.link_parent = linked})
                .value();
      }));
      const pid_t id = ports.OsPid(port);
      CHECK_FALSE(IsGone(id));
      if (kill) {
        ports.node().Kill(owner).value();
      } else {
        ports.node().Send(owner, End{}).value();
      }
      CHECK(ports->Ended(port));
      CHECK(IsGone(id));
    }
  }
  // Not even that of a program that does not read, and of an owner that is none any more.
  const gen::PID owner = ports->Spawn();
  gen::PID port;
  CHECK(ports->Run(owner, [&](Subject& self) {
    port = self.Spawn(Port({.program = "sh", .arguments = {"-c", "sleep 1000"}})).value();
    self.Send(port, PortInput{std::string(1'000'000, 'x')}).value();
  }));
  REQUIRE(ports->EventuallyWaiting(port));
  ports.node().Send(owner, End{}).value();
  CHECK(ports->Ended(port));
}

TEST_CASE("port: one that is killed kills the group, and leaves no zombie") {
  Ports ports;
  const gen::PID port = ports.Shell("trap '' TERM; sleep 1000 & echo $!; wait", {.lines = 100});
  REQUIRE(kit::Eventually([&] { return !ports.notes.Of(port).data.empty(); }));
  const pid_t id = ports.OsPid(port);
  ports.node().Kill(port).value();
  CHECK(ports->Ended(port));
  CHECK(IsGone(id));
  const pid_t child = std::stoi(ports.notes.Of(port).data.front().bytes);
  CHECK(kit::Eventually([&] { return HasDied(child); }));
  CHECK(ports.notes.Of(port).exits.empty());
}

TEST_CASE("port: a node that stops takes its programs along") {
  pid_t polite = 0;
  pid_t deaf = 0;
  for (const bool force : {false, true}) {
    CAPTURE(force);
    Ports ports;
    const gen::PID first = ports.Open({.program = "sleep", .arguments = {"1000"}}).value();
    const gen::PID second = ports.Shell("trap '' TERM; echo ready; sleep 1000",
                                        {.lines = 100, .shutdown_timeout = 20ms});
    polite = ports.OsPid(first);
    deaf = ports.OsPid(second);
    REQUIRE(ports.notes.Has(second, "ready"));
    if (force) {
      ports.node().StopForce();
    } else {
      ports.node().Stop();
    }
    CHECK(IsGone(polite));
    CHECK(IsGone(deaf));
  }
}

TEST_CASE("port: a supervisor starts it again") {
  struct Supervised : act::Supervisor {
    explicit Supervised(gen::PID owner) : owner_(owner) {}
    gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
      return act::SupervisorSpec{
          .children = {{.name = "sleeper",
                        .factory = Port({.program = "sh",
                                         .arguments = {"-c", "echo up; exec sleep 1000"},
                                         .owner = owner_})}}};
    }
    gen::PID owner_;
  };
  Ports ports;
  const gen::PID supervisor = ports.node().Spawn(gen::Factory<Supervised>(ports.owner)).value();
  const gen::PID first = ports.node().Resolve("sleeper").value();
  REQUIRE(ports.notes.Has(first, "up\n"));
  const pid_t id = ports.OsPid(first);
  CHECK(kill(id, SIGKILL) == 0);
  gen::PID second = first;
  REQUIRE(kit::Eventually([&] {
    second = ports.node().Resolve("sleeper").value_or(first);
    return second != first;
  }));
  REQUIRE(ports.notes.Has(second, "up\n"));
  CHECK(ports.notes.IsOver(first));
  CHECK(IsGone(id));
  // Its output may come before its Init is over, and a supervisor kills a child in its Init.
  (void)ports.OsPid(second);
  CHECK(ports.node().StopProcess(supervisor, kit::kDeadline));
  REQUIRE(ports.notes.IsOver(second));
  CHECK(ports.notes.Of(second).exits.front().signal == SIGTERM);
}

TEST_CASE("port: fifty at once, again and again") {
  constexpr int kPorts = 50;
  Ports ports;
  const auto round = [&] {
    std::vector<gen::PID> all;
    for (int i = 0; i < kPorts; ++i) {
      all.push_back(ports.Open({.program = "cat", .errors = PortStream::kPipe}).value());
    }
    for (int i = 0; i < kPorts; ++i) {
      const auto port = all[static_cast<std::size_t>(i)];
      ports.node().Send(port, PortInput{std::to_string(i)}).value();
      ports.node().Send(port, PortCloseInput{}).value();
    }
    for (int i = 0; i < kPorts; ++i) {
      const auto port = all[static_cast<std::size_t>(i)];
      REQUIRE(ports.notes.IsOver(port));
      CHECK(ports.notes.Of(port).Bytes() == std::to_string(i));
      CHECK(ports->Ended(port));
    }
    // Helpers, too: the owner and the watcher are left.
    CHECK(ports->EventuallyProcesses(2));
  };
  round();
  const std::ptrdiff_t descriptors = kit::OpenDescriptors();
  round();
  CHECK(kit::OpenDescriptors() == descriptors);
}

TEST_CASE("port: without descriptors there is no program, and nothing is left of it" *
          kit::WithoutDescriptors()) {
  Ports ports;
  gen::Result<gen::PID> port;
  {
    const kit::FewDescriptors none_left(0);
    port = ports.Open({.program = "cat"});
  }
  REQUIRE_FALSE(port);
  CHECK(port.error().detail() == "cannot start cat: pipes: Too many open files");
  CHECK(ports->EventuallyProcesses(2));
}

TEST_CASE("port: where the system does not tell of an end, it is looked for" *
          kit::WithoutDescriptors()) {
  Ports ports;
  gen::Result<gen::PID> ends;
  gen::Result<gen::PID> killed;
  {
    const kit::FewDescriptors none_left(0);  // nor one that tells of the end
    const PortOptions options{.program = "sleep",
                              .arguments = {"0.1"},
                              .input = PortStream::kNull,
                              .output = PortStream::kNull};
    ends = ports.Open(options);
    killed = ports.Open(options);
    REQUIRE(ends);
    REQUIRE(killed);
    const pid_t id = ports.OsPid(*killed);
    ports.node().Kill(*killed).value();
    CHECK(ports->Ended(*killed));
    CHECK(IsGone(id));
  }
  CHECK(ports->Ended(*ends));
  REQUIRE(ports.notes.IsOver(*ends));
  CHECK(ports.notes.Of(*ends).exits.front().code == 0);
}

}  // namespace
}  // namespace ergon::node::port_test
