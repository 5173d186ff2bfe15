// What a program says that dies of a handler's recursion. Each way of it is a program of its own.
#include <array>
#include <string>

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kit/eventually.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ergon::node {
namespace {

struct ProgramEnd {
  std::string errors;  // what it has written to standard error
  int signal = 0;      // 0: none
  int status = 0;
};

ProgramEnd RunProgram(std::string way) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
  std::string program = ERGON_OVERFLOW_PROGRAM;
  std::array<char*, 3> words{program.data(), way.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  ProgramEnd end;
  if (failed == 0) {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;) {
      end.errors.append(buffer.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    waitpid(child, &status, 0);
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }
  close(pipe_ends[0]);
  REQUIRE(failed == 0);
  return end;
}

constexpr const char* kStack =
    ": its stack of 256 KiB overflowed; see NodeOptions::handler_stack_bytes\n";

TEST_CASE("stack overflow: the process is named, and the program ends as without Ergon" *
          doctest::skip(kit::kSanitized)) {  // they have a report of their own
  const auto says = [](const char* way, const std::string& middle) {
    CAPTURE(way);
    const ProgramEnd end = RunProgram(way);
    CAPTURE(end.errors);
    CHECK(end.signal == SIGSEGV);
    CHECK(end.errors.starts_with("ergon: <overflow@localhost."));
    CHECK(end.errors.ends_with("> (overflow::Deep), " + middle + kStack));
  };
  says("message", "handling overflow::Dive");
  says("large", "handling overflow::Dive");
  says("larger", "handling overflow::Dive");
  says("call", "handling overflow::Dive");
  says("detached", "handling overflow::Dive");
  says("blocking", "handling overflow::Dive");
  says("init", "in Init");
  says("child", "in Init");
  says("terminate", "in Terminate");
}

TEST_CASE("stack overflow: other faults are not the library's affair" *
          doctest::skip(kit::kSanitized)) {
  for (const char* way : {"null", "sent"}) {
    CAPTURE(way);
    const ProgramEnd end = RunProgram(way);
    CHECK(end.signal == SIGSEGV);
    CHECK(end.errors.empty());
  }
}

TEST_CASE("stack overflow: a handler that the program has installed before has the last word" *
          doctest::skip(kit::kSanitized)) {
  const ProgramEnd overflow = RunProgram("own");
  CHECK(overflow.status == 7);
  CHECK(overflow.errors.starts_with("ergon: <overflow@localhost."));
  CHECK(overflow.errors.ends_with(std::string(kStack) + "own handler\n"));
  const ProgramEnd null = RunProgram("own-null");
  CHECK(null.status == 8);
  CHECK(null.errors == "own handler\n");
}

}  // namespace
}  // namespace ergon::node
