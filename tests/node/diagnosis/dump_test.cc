// What a node writes about its processes when somebody wants to know why it hangs.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ostream>
#include <regex>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <ergon/act/pool.h>

#include <kit/child.h>
#include <kit/gate.h>
#include <kit/threads.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

struct Dig {};

std::vector<std::string> DumpOf(const gen::Node& node) {
  std::stringstream stream;
  node.Dump(stream);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The line that begins with a PID, or nothing.
std::string LineOf(const std::vector<std::string>& lines, gen::PID pid) {
  const auto found = std::ranges::find_if(
      lines, [&](const std::string& line) { return line.starts_with(pid.ToString() + " "); });
  return found == lines.end() ? std::string() : *found;
}

void CheckMatches(const std::string& line, const std::string& pattern) {
  CAPTURE(line);
  CAPTURE(pattern);
  CHECK(std::regex_search(line, std::regex(pattern)));
}

TEST_CASE("dump: a head about the node, and a line for each process in the order of spawning") {
  TestNode t({.workers = 2});
  const gen::PID first = t.Spawn();
  const gen::PID second = t.node.SpawnRegister("second_one", Make({})).value();
  REQUIRE(kit::Eventually([&] {
    return t.node.ProcessInfo(second)->state == gen::ProcessState::kIdle &&
           t.node.ProcessInfo(first)->state == gen::ProcessState::kIdle;
  }));
  CHECK(t.node.Kill(t.Spawn()));
  REQUIRE(t.EventuallyProcesses(2));
  const auto lines = DumpOf(t.node);
  REQUIRE(lines.size() == 4);
  CheckMatches(lines[0],
               "^test@localhost has run for [0-9.]+ [mu]?s; processes: 2 \\(spawned 3, ended 1, "
               "failed 1\\); "
               "work-stealing: workers 2, turns [0-9]+; timers 0; dropped: 0 ");
  CheckMatches(lines[1], "^PID +NAME +BEHAVIOUR +STATE +QUEUED +HIGH +HELD +HANDLES +WAITS FOR$");
  CheckMatches(lines[2], "^" + first.ToString() + " +- +ergon::node::Subject +idle +0 +0 +0$");
  CheckMatches(lines[3],
               "^" + second.ToString() + " +second_one +ergon::node::Subject +idle +0 +0 +0$");
  // Columns stand below their heads.
  CHECK(lines[3].find("second_one") == lines[1].find("NAME"));
  CHECK(lines[2].find("ergon::node") == lines[1].find("BEHAVIOUR"));
}

TEST_CASE("dump: the order is that of spawning, though a later process has an earlier slot") {
  const auto slot = [](gen::PID pid) { return static_cast<std::uint32_t>(pid.id); };
  TestNode t({.workers = 2});
  // So many that a slot of one of them comes back, whichever workers they end in: each keeps some that it has freed for
  // itself.
  constexpr int kFirst = 700;
  std::vector<gen::PID> first;
  for (int i = 0; i < kFirst; ++i) first.push_back(t.Spawn());
  const gen::PID older = t.Spawn();
  for (const gen::PID pid : first) {
    CHECK(t.node.Kill(pid));
    CHECK(t.Ended(pid));
  }
  gen::PID younger = t.Spawn();
  for (int i = 0; slot(younger) > slot(older) && i < 2000; ++i) {
    CHECK(t.node.Kill(younger));
    CHECK(t.Ended(younger));
    younger = t.Spawn();
  }
  REQUIRE(slot(younger) < slot(older));
  REQUIRE(t.EventuallyProcesses(2));
  const auto lines = DumpOf(t.node);
  REQUIRE(lines.size() == 4);
  CHECK(lines[2].starts_with(older.ToString() + " "));
  CHECK(lines[3].starts_with(younger.ToString() + " "));
}

TEST_CASE(
    "dump: a suspended Call names its callee, the request's type, and what it handles itself") {
  kit::ThreadGate gate;
  TestNode t({.workers = 2});
  const gen::PID callee =
      t.Spawn({.call = [enter = gate.Holder()](Subject&, gen::PID, gen::Ref, gen::Message&) {
        enter();
        return gen::Reply(1);
      }});
  CHECK(t.node.RegisterName("quarry", callee));
  const gen::PID caller = t.Spawn({.message = [&](Subject& self, gen::PID, gen::Message&) {
    CHECK(self.Call<int>("quarry", Dig{}, {.timeout = gen::kInfinite}));
    return gen::Continue();
  }});
  CHECK(t.node.Send(caller, Ask{}));
  REQUIRE(t.EventuallyWaiting(caller));
  REQUIRE(kit::Eventually(
      [&] { return LineOf(DumpOf(t.node), callee).find("Dig for ") != std::string::npos; }));
  const auto lines = DumpOf(t.node);
  CheckMatches(LineOf(lines, caller),
               " waiting +0 +0 +0 +ergon::node::Ask for [0-9.]+ [mu]?s +" + callee.ToString() +
                   " quarry ergon::node::Subject: .*Dig for [0-9.]+ [mu]?s$");
  CheckMatches(LineOf(lines, callee), " quarry .* running +0 +0 +0 +.*Dig for [0-9.]+ [mu]?s$");
  gate.Open();
}

TEST_CASE("dump: waits of other kinds") {
  TestNode t({.workers = 2});
  const gen::PID sleeper = t.Spawn();
  t.Begin(sleeper, [](Subject& self) { (void)self.Sleep(gen::kInfinite); });
  std::atomic<std::uint64_t> child{0};
  const gen::PID parent = t.Spawn();
  t.Begin(parent, [&](Subject& self) {
    (void)self.Spawn(Make({.init =
                               [&](Subject& born, const gen::Args&) {
                                 child = born.Self().id;
                                 (void)born.Sleep(gen::kInfinite);
                                 return gen::Continue();
                               }}),
                     {.init_timeout = gen::kInfinite});
  });
  // Keeps no answer, and gives none.
  const gen::PID silent =
      t.Spawn({.call = [](Subject&, gen::PID, gen::Ref, gen::Message&) -> gen::CallResult {
        return gen::NoReply();
      }});
  const gen::PID caller = t.Spawn();
  t.Begin(caller, [&](Subject& self) {
    CHECK(!self.Call<int>(silent, Dig{}, {.timeout = gen::kInfinite}));
  });
  REQUIRE(t.EventuallyWaiting(sleeper));
  REQUIRE(t.EventuallyWaiting(caller));
  REQUIRE(kit::Eventually([&] {
    return LineOf(DumpOf(t.node), caller).find("without an answer so far") != std::string::npos;
  }));
  REQUIRE(kit::Eventually([&] { return child != 0; }));
  REQUIRE(t.EventuallyWaiting({child, t.node.Name(), parent.creation}));
  const auto lines = DumpOf(t.node);
  CheckMatches(LineOf(lines, sleeper), " waiting .* sleeps, or waits for no process$");
  const gen::PID born{child, t.node.Name(), parent.creation};
  CheckMatches(LineOf(lines, parent), " " + born.ToString() + " ergon::node::Subject: its Init$");
  CheckMatches(LineOf(lines, born),
               " waiting .* Init or a signal +sleeps, or waits for no process$");
  for (const gen::PID pid : {sleeper, caller, parent}) CHECK(t.node.Kill(pid));
  for (const gen::PID pid : {sleeper, caller, parent}) CHECK(t.Ended(pid));
}

TEST_CASE("dump: what waits in a mailbox, its bound, what is stashed, and who is suspended") {
  TestNode t({.workers = 2});
  const gen::PID full = t.Spawn({}, {.mailbox_size = 3});
  const gen::PID stashing = t.Spawn({.message =
                                         [](Subject& self, gen::PID, gen::Message& message) {
                                           CHECK(self.Stash(message));
                                           return gen::Continue();
                                         }},
                                    {.stash_size = 10});
  CHECK(t.node.Suspend(full, kit::kDeadline));
  for (int i = 0; i < 3; ++i) CHECK(t.node.Send(full, i));
  CHECK(t.node.Send(full, 4).error() == gen::ErrProcessMailboxFull);
  for (int i = 0; i < 2; ++i) CHECK(t.node.Send(stashing, i));
  // The turn that has answered to Suspend may go on for a moment.
  REQUIRE(kit::Eventually([&] {
    return t.node.ProcessInfo(stashing)->messages_held == 2 &&
           t.node.ProcessInfo(full)->state == gen::ProcessState::kIdle;
  }));
  const auto lines = DumpOf(t.node);
  CheckMatches(LineOf(lines, full), " idle, suspended +3/3 +0 +0$");
  CheckMatches(LineOf(lines, stashing), " 0 +0 +2\\b");
  CHECK(t.node.Resume(full, kit::kDeadline));
}

TEST_CASE("dump: a name looks like no other row, and moves no cursor") {
  TestNode t({.workers = 2});
  const gen::PID pid = t.node.SpawnRegister("a\n<forged> row \x1b[2J\xC2\x9B", Make({})).value();
  const auto lines = DumpOf(t.node);
  REQUIRE(lines.size() == 4);
  CHECK(LineOf(lines, pid).ends_with(" a"));
  CHECK(lines[3].starts_with("    <forged> row \\x1b[2J\\x9b "));
}

TEST_CASE("dump: turns that the watchdog has found too long") {
  kit::ThreadGate gate;
  TestNode t({.workers = 2, .watchdog_after = 20ms});
  const gen::PID slow =
      t.Spawn({.message = [enter = gate.Holder()](Subject&, gen::PID, gen::Message&) {
        enter();
        return gen::Continue();
      }});
  CHECK(t.node.Send(slow, Dig{}));
  CHECK(kit::Eventually([&] {
    const auto lines = DumpOf(t.node);
    return std::ranges::any_of(lines, [&](const std::string& line) {
      return line.starts_with("busy: " + slow.ToString() +
                              " ergon::node::Subject has been in a handler");
    });
  }));
  gate.Open();
}

TEST_CASE("dump: a node that has stopped says so") {
  TestNode t({.workers = 2});
  t.Spawn();
  t.node.Stop();
  const auto lines = DumpOf(t.node);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("test@localhost has stopped; processes: 0 (spawned 1, ended 1, "));
}

TEST_CASE("dump: from handlers and threads, while processes come and go") {
  const int rounds = kit::Scaled(200);
  TestNode t({.workers = 2});
  std::atomic<bool> done{false};
  const gen::PID lasting = t.node.SpawnRegister("lasting", Make({})).value();
  kit::Threads threads;
  threads.Start([&] {
    for (int i = 0; i < rounds; ++i) {
      const gen::PID a = t.Spawn();
      const gen::PID b = t.Spawn();
      t.Begin(a, [b](Subject& self) { (void)self.Call<bool>(b, Do{[](Subject&) {}}, kPatient); });
      CHECK(t.Run(b, [](Subject& self) { (void)self.RegisterName("passing"); }));
      CHECK(t.node.StopProcess(a, kit::kDeadline));
      CHECK(t.node.StopProcess(b, kit::kDeadline));
    }
    done = true;
  });
  const gen::PID dumper = t.Spawn();
  while (!done) {
    const auto lines = DumpOf(t.node);
    CHECK(LineOf(lines, lasting).find(" lasting ") != std::string::npos);
    CHECK(
        t.Run(dumper, [&](Subject& self) { CHECK(!LineOf(DumpOf(self.Node()), dumper).empty()); }));
  }
  threads.Join();
}

// Fails after some bytes.
class ShortBuffer : public std::streambuf {
 public:
  int lines = 0;

 private:
  std::streamsize xsputn(const char*, std::streamsize count) override {
    return ++lines > 100 ? 0 : count;
  }
};

TEST_CASE("dump: many processes are written line by line, and not to a stream that has failed") {
  TestNode t({.workers = 2});
  std::vector<gen::PID> pids;
  for (int i = 0; i < 1000; ++i) pids.push_back(t.Spawn());
  const auto lines = DumpOf(t.node);
  REQUIRE(lines.size() == 1002);
  for (std::size_t i = 0; i < pids.size(); ++i)
    CHECK(lines[i + 2].starts_with(pids[i].ToString() + " "));
  ShortBuffer buffer;
  std::ostream stream(&buffer);
  t.node.Dump(stream);
  CHECK(stream.bad());
  CHECK(buffer.lines == 101);
}

// Standard error goes to a file.
class ErrorsToFile {
 public:
  ErrorsToFile() : file_(std::tmpfile()), errors_(dup(STDERR_FILENO)) {
    REQUIRE(file_ != nullptr);
    REQUIRE(dup2(fileno(file_), STDERR_FILENO) == STDERR_FILENO);
  }
  ErrorsToFile(const ErrorsToFile&) = delete;
  ErrorsToFile& operator=(const ErrorsToFile&) = delete;
  ~ErrorsToFile() {
    (void)dup2(errors_, STDERR_FILENO);
    close(errors_);
    (void)std::fclose(file_);
  }
  [[nodiscard]] std::string Text() const {
    std::string text(100'000, ' ');
    const ssize_t bytes = pread(fileno(file_), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return text;
  }

 private:
  std::FILE* const file_;
  const int errors_;
};

// The numbers of lines that match.
std::vector<int> LinesWith(const std::string& text, const std::string& part) {
  std::vector<int> numbers;
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line); ++number) {
    if (line.find(part) != std::string::npos) numbers.push_back(number);
  }
  return numbers;
}

TEST_CASE("dump: a pool says how many workers it has, and what waits with them") {
  class DumpedPool : public act::Pool {
   public:
    explicit DumpedPool(Handlers worker) : worker_(std::move(worker)) {}

   private:
    gen::Result<act::PoolOptions> Init(const gen::Args&) override {
      return act::PoolOptions{
          .pool_size = 2, .worker_factory = Make(worker_), .worker_mailbox_size = 5};
    }
    const Handlers worker_;
  };
  TestNode t({.workers = 3});
  kit::ThreadGate gate;
  const gen::PID pool = t.node
                            .Spawn(gen::Factory<DumpedPool>(Handlers{
                                .message =
                                    [enter = gate.Holder()](Subject&, gen::PID, gen::Message&) {
                                      enter();
                                      return gen::Continue();
                                    }}))
                            .value();
  REQUIRE(kit::Eventually(
      [&] { return LineOf(DumpOf(t.node), pool).find(" idle ") != std::string::npos; }));
  CheckMatches(LineOf(DumpOf(t.node), pool),
               " idle +0/[0-9]+ +0 +0 +a pool: with its workers \\(2\\) wait 0$");
  // Each of them handles one.
  for (int i = 0; i < 5; ++i) CHECK(t.node.Send(pool, Dig{}));
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 2; }));
  CHECK(kit::Eventually([&] {
    return LineOf(DumpOf(t.node), pool).ends_with(" a pool: with its workers (2) wait 3");
  }));
  CheckMatches(LineOf(DumpOf(t.node), pool), " idle .* wait 3$");
}

TEST_CASE("dump: a process that waits for a thread is ready, and handles nothing") {
  kit::ThreadGate gate;
  TestNode t({.workers = 2});
  const Handlers holds = {.message = [enter = gate.Holder()](Subject&, gen::PID, gen::Message&) {
    enter();
    return gen::Continue();
  }};
  const gen::PID holders[] = {t.Spawn(holds), t.Spawn(holds)};
  const gen::PID waits =
      t.Spawn({.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }});
  REQUIRE(kit::Eventually(
      [&] { return t.node.ProcessInfo(waits)->state == gen::ProcessState::kIdle; }));
  for (const gen::PID holder : holders) CHECK(t.node.Send(holder, Dig{}));
  for (const gen::PID holder : holders) {
    REQUIRE(kit::Eventually(
        [&] { return LineOf(DumpOf(t.node), holder).find("Dig for ") != std::string::npos; }));
  }
  CHECK(t.node.Send(waits, Dig{}));
  CHECK(t.node.ProcessInfo(waits)->state == gen::ProcessState::kReady);
  CHECK(t.node.ProcessInfo(waits)->handles.empty());
  CheckMatches(LineOf(DumpOf(t.node), waits), " ready +1 +0 +0 +waits for a thread$");
  const auto late = t.node.Call<int>(waits, 1, {.timeout = 1ms});
  CHECK(std::string(late.error().detail()).find(" is ready and waits for a thread") !=
        std::string::npos);
  gate.Open();
}

TEST_CASE("dump: on SIGQUIT each node that was asked to writes, in one piece, and goes on") {
  kit::LogCapture log;
  const gen::NodeOptions asked = log.Into({.workers = 2, .dump_on_sigquit = true});
  Node first = Start("first@localhost", asked).value();
  Node second = Start("second@localhost", asked).value();
  Node third = Start("third@localhost", log.Into({.workers = 2})).value();
  for (Node* node : {&first, &second, &third}) CHECK(node->SpawnRegister("somebody", Make({})));
  const ErrorsToFile errors;
  for (std::size_t times = 1; times <= 2; ++times) {
    REQUIRE(kill(getpid(), SIGQUIT) == 0);
    CHECK(kit::Eventually(
        [&] { return LinesWith(errors.Text(), "localhost.").size() == 2 * times; }));
  }
  const std::string text = errors.Text();
  for (const std::string name : {"first@localhost", "second@localhost"}) {
    const auto heads = LinesWith(text, name + " has run for ");
    const auto rows = LinesWith(text, "<" + name + ".");
    REQUIRE(heads.size() == 2);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0] == heads[0] + 2);
    CHECK(rows[1] == heads[1] + 2);
  }
  CHECK(LinesWith(text, "third").empty());
  CHECK(first.Spawn(Make({})));
}

TEST_CASE("dump: child whose nodes have stopped" * doctest::skip()) {
  kit::ChildBegins();
  std::signal(SIGQUIT, SIG_DFL);
  for (int i = 0; i < 2; ++i) {
    Node node = Start("test@localhost", {.workers = 2, .dump_on_sigquit = true}).value();
    node.Stop();
  }
  (void)kill(getpid(), SIGQUIT);
  (void)kit::Eventually([] { return false; });
}

TEST_CASE("dump: SIGQUIT ends the program again when all nodes that were asked to have stopped") {
  kit::Child child("dump: child whose nodes have stopped");
  const int status = child.Status();
  REQUIRE(status != -1);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGQUIT);
}

}  // namespace
}  // namespace ergon::node
