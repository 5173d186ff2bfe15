// A program with a node forks: the child has the node's memory, but none of its threads.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include <ergon/node/trace_file.h>

#include <kit/child.h>
#include <node/subject.h>

namespace ergon::node {
namespace {

// For a test case that forks while another thread allocates. GCC's sanitizers do not take all locks of their allocators
// at a fork, so that the child may wait for one for ever: any program's, also one without a node.
doctest::skip WhileOthersAllocate() { return doctest::skip(kit::kSanitized); }

// Runs a function in a fork, and returns the exit status that it returns; -1 if it does not, which fails the test with
// the reason.
int InFork(const std::function<int()>& function) {
  const pid_t pid = fork();
  if (pid == 0) _exit(function());
  int status = -1;
  const bool ended = kit::Eventually([&] { return waitpid(pid, &status, WNOHANG) == pid; });
  if (!ended) {
    FAIL_CHECK("the child does not end");
    kill(pid, SIGKILL);
    (void)waitpid(pid, nullptr, 0);
    return -1;
  }
  if (!WIFEXITED(status)) {
    FAIL_CHECK(fmt::format("signal {} ended the child", WTERMSIG(status)));
    return -1;
  }
  return WEXITSTATUS(status);
}

// Of the first that is not told that it is in a fork; 0: all are.
int FirstNotTold(Node& node, gen::PID pid, TraceFile* file = nullptr) {
  int number = 0;
  int first = 0;
  auto check = [&](const auto& result) {
    ++number;
    const bool told = !result && result.error() == gen::ErrNodeTerminated &&
                      result.error().detail().find("fork") != std::string_view::npos;
    if (!told && first == 0) first = number;
  };
  check(node.Send(pid, 1));
  check(node.Send("name", 1));
  check(node.SendImportant(pid, 1));
  check(node.SendOrWait(pid, 1, 1s));
  check(node.SendAfter(pid, 1, 1s));
  check(node.SendEvery(pid, 1, 1s));
  check(node.SendExit(pid, gen::Reason::Shutdown()));
  check(node.Call<int>(pid, 1));
  check(node.CallAsync<int>(pid, 1).get());
  check(node.Inspect(pid));
  check(node.Spawn(Make({})));
  check(node.SpawnRegister("name", Make({})));
  check(node.RegisterName("name", pid));
  check(node.UnregisterName("name"));
  check(node.Kill(pid));
  check(node.StopProcess(pid));
  check(node.WaitProcess(pid));
  check(node.Suspend(pid));
  check(node.Resume(pid));
  check(node.ProcessInfo(pid));
  check(node.LoadApplication({.name = "name"}));
  check(node.UnloadApplication("name"));
  check(node.ApplicationInfo("name"));
  check(node.StartApplication("name"));
  check(node.StopApplication("name"));
  check(node.AddCronJob({.name = "name", .spec = "* * * * *"}));
  check(node.RemoveCronJob("name"));
  check(node.EnableCronJob("name"));
  check(node.DisableCronJob("name"));
  check(node.CronJobInfo("name"));
  check(node.WaitForSignal());
  check(TraceTo(node, "/no/such/folder/a.json"));
  if (file != nullptr) check(file->End());
  std::ostringstream dump;
  node.Dump(dump);
  ++number;
  if (dump.str().find("fork") == std::string::npos && first == 0) first = number;
  const auto check_none = [&](bool is_none) {
    ++number;
    if (!is_none && first == 0) first = number;
  };
  check_none(node.ProcessList().empty());
  check_none(node.LastDrops().empty());
  check_none(node.WaitForGraph().empty());
  check_none(node.MessageBalance().accepted == 0);
  check_none(node.Applications().empty());
  node.SetEnv("name", 2);
  check_none(!node.FindEnv("name"));
  check_none(node.EnvList().empty());
  check_none(node.CronJobs().empty());
  check_none(file == nullptr || !file->IsOpen());
  check_none(node.CronRuns({}, 1h).empty());
  check_none(node.Info().name == node.Name() && node.Info().processes == 0);
  node.Stop();
  node.StopForce();
  node.Wait();
  return first;
}

TEST_CASE("fork: in the child everything is refused with a word, and nothing hangs") {
  std::optional<TestNode> t(std::in_place);
  const gen::PID pid = t->Spawn();
  t->node.SetEnv("name", 1);
  CHECK(t->node.AddCronJob(
      {.name = "job", .spec = "* * * * *", .action = gen::CronAction::Send(pid)}));
  CHECK(t->node.LoadApplication({.name = "application", .processes = {{.factory = Make({})}}}));
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("ergon_fork_{}.json", getpid()))
          .string();
  const auto file = TraceTo(t->node, path, {.duration = gen::kInfinite}).value();
  CHECK(InFork([&] { return FirstNotTold(t->node, pid, file.get()); }) == 0);
  CHECK(file->End());
  std::filesystem::remove(path);
  CHECK(t->Run(pid, [](Subject&) {}));  // the parent does not mind
  CHECK(InFork([&] { return InFork([&] { return FirstNotTold(t->node, pid); }); }) == 0);
}

TEST_CASE("fork: in the child the node can be destroyed and assigned") {
  kit::LogCapture log;
  auto node = std::make_unique<Node>(Start("test@localhost", log.Into({})).value());
  auto other = std::make_unique<Node>(Start("other@localhost", log.Into({})).value());
  CHECK(InFork([&] {
          *node = std::move(*other);
          node.reset();
          other.reset();
          return 3;
        }) == 3);
  CHECK(node->Spawn(Make({})));
}

TEST_CASE("fork: while others send, the child comes through all the same" * WhileOthersAllocate()) {
  TestNode t;
  const gen::PID pid =
      t.Spawn({.message = [](Subject&, gen::PID, gen::Message&) { return gen::Continue(); }});
  std::atomic<bool> done{false};
  std::thread sender([&] {
    while (!done) (void)t.node.Send(pid, std::string(100, 'x'));
  });
  for (int i = 0; i < 20; ++i) {
    CHECK(InFork([&] { return FirstNotTold(t.node, pid); }) == 0);
  }
  done = true;
  sender.join();
}

TEST_CASE("fork: while others log, the child does not wait for their lock" *
          WhileOthersAllocate()) {
  TestNode t;
  const std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) t.node.Log().Error("a line of the parent");
  });
  for (int i = 0; i < 20; ++i) {
    CHECK(InFork([&] {
            t.node.Log().Error("a line of the child");
            return 0;
          }) == 0);
  }
}

TEST_CASE("fork: while others have the locks of what returns no error, the child comes through" *
          WhileOthersAllocate()) {
  TestNode t;
  std::atomic<bool> done{false};
  std::thread looks([&] {
    while (!done) {
      t.node.SetEnv("name", std::string(1'000, 'x'));
      (void)t.node.EnvList();
      (void)t.node.Applications();
      (void)t.node.CronJobs();
      (void)t.node.Info();
    }
  });
  for (int i = 0; i < 20; ++i) {
    CHECK(InFork([&] { return FirstNotTold(t.node, {}); }) == 0);
  }
  done = true;
  looks.join();
}

TEST_CASE("fork: inside a handler, what would wait in the child returns") {
  TestNode t;
  const gen::PID pid = t.Spawn();
  const gen::PID other = t.Spawn();
  CHECK(t.Run(pid, [&](Subject& self) {
    CHECK(InFork([&] {
            if (self.Sleep(1s)) return 1;
            self.Yield();
            if (self.Call<bool>(other, Do{[](Subject&) {}}).error() != gen::ErrNodeTerminated)
              return 2;
            return 0;
          }) == 0);
  }));
}

TEST_CASE("fork: child with a static node" * doctest::skip()) {
  kit::ChildBegins();
  static Node node = Start("test@localhost").value();
  static kit::LogCapture log;
  static std::unique_ptr<Node> another =
      std::make_unique<Node>(Start("another@localhost", log.Into({})).value());
  const gen::PID pid = node.Spawn(Make({})).value();
  const pid_t fork_pid = fork();
  if (fork_pid == 0) std::exit(FirstNotTold(node, pid));
  int status = -1;
  CHECK(waitpid(fork_pid, &status, 0) == fork_pid);
  std::exit(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 7 : 1);
}

TEST_CASE("fork: exit() in the child ends the child") {
  kit::Child child("fork: child with a static node");
  CHECK(child.Errors().empty());
  const int status = child.Status();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

// Waits for the end of a child, and returns its status; -1 after it had to be killed.
int StatusOf(pid_t pid) {
  int status = -1;
  if (kit::Eventually([&] { return waitpid(pid, &status, WNOHANG) == pid; })) return status;
  kill(pid, SIGKILL);
  (void)waitpid(pid, nullptr, 0);
  return -1;
}

// A program of its own: its signals would stop other tests' nodes, too.
TEST_CASE("fork: signals of a node that catches them" * doctest::skip()) {
  kit::ChildBegins();
  kit::LogCapture log;
  gen::NodeOptions options = log.Into({});
  options.stop_on_signal = true;
  std::optional<Node> node(Start("parent@localhost", options).value());
  const pid_t without = fork();
  if (without == 0) {
    for (;;) pause();
  }
  (void)kill(without, SIGTERM);
  const int status = StatusOf(without);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGTERM);
#if !ERGON_TSAN  // which ends a fork that begins a thread
  const pid_t with = fork();
  if (with == 0) {
    Node own = Start("child@localhost", options).value();
    (void)raise(SIGTERM);
    own.Wait();
    _exit(7);
  }
  const int own_status = StatusOf(with);
  REQUIRE(WIFEXITED(own_status));
  REQUIRE(WEXITSTATUS(own_status) == 7);
#endif
  REQUIRE(node->Spawn(Make({})));  // it runs on
  (void)raise(SIGTERM);
  node->Wait();
  REQUIRE_FALSE(node->Spawn(Make({})));
  node.reset();  // with its threads: exit destroys nothing here
  std::exit(7);
}

TEST_CASE("fork: a signal to the child does not stop the node of its parent") {
  kit::Child child("fork: signals of a node that catches them");
  CHECK(child.Errors().empty());
  const int status = child.Status();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("fork: another thread that makes atoms keeps no lock in the child" *
          WhileOthersAllocate()) {
  TestNode t;
  const std::jthread maker([](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i)
      (void)gen::Atom(std::string("fork_atom_") + std::to_string(i % 2000));
  });
  for (int i = 0; i < kit::Scaled(200); ++i) {
    REQUIRE(InFork([&] { return t.node.Send("no_such_name", 1) ? 1 : 0; }) == 0);
  }
}

}  // namespace
}  // namespace ergon::node
