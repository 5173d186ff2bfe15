// A test case in a program of its own: for what ends the program, or would hang it.
#pragma once

#include <csignal>
#include <cstdlib>
#include <string>

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <kit/eventually.h>

namespace ergon::kit {

class Child {
 public:
  // Runs a test case of this program; that has to be marked with doctest::skip(), and to begin with
  // ChildBegins.
  explicit Child(const std::string& test_case) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    errors_ = ends[0];
    const std::string filter = "--test-case=" + test_case;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDERR_FILENO);
      // What others of its threads hold is no leak when it calls exit.
      const char* const options = std::getenv("ASAN_OPTIONS");
      const std::string no_leaks =
          std::string(options == nullptr ? "" : options) + ":detect_leaks=0";
      setenv("ASAN_OPTIONS", no_leaks.c_str(), 1);
      execl("/proc/self/exe", "child", filter.c_str(), "--no-skip", "--minimal",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
  }
  ~Child() {
    close(errors_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      (void)waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // All that it writes to stderr; returns when it has ended, or, with what it has written by then,
  // when it does not.
  std::string Errors() {
    std::string text;
    pollfd ready{errors_, POLLIN, 0};
    const int patience = static_cast<int>(std::chrono::milliseconds(kDeadline).count());
    while (poll(&ready, 1, patience) == 1) {
      char part[4096];
      const ssize_t bytes = read(errors_, part, sizeof(part));
      if (bytes <= 0) break;
      text.append(part, static_cast<std::size_t>(bytes));
    }
    return text;
  }
  // How it has ended, as waitpid tells; -1: it has not.
  int Status() {
    int status = -1;
    const bool ended = Eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
    if (!ended) return -1;
    pid_ = 0;
    return status;
  }
  bool IsAborted() {
    const int status = Status();
    return status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  }

 private:
  int errors_ = -1;
  pid_t pid_ = 0;
};

// The child's first step: signals end it as they end other programs, and leave no core behind.
inline void ChildBegins() {
  for (const int signal : {SIGINT, SIGTERM, SIGABRT}) std::signal(signal, SIG_DFL);
  const rlimit none{0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
}

}  // namespace ergon::kit
