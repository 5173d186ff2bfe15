// pause_threads PERCENT COMMAND...: runs a command, and stops single threads of it and of its children for 10 ms each,
// as a busy machine does at the worst moments. SIGSTOP would stop all threads of a program at once, so each thread is
// stopped as a debugger does it (ptrace, PTRACE_SEIZE and PTRACE_INTERRUPT). Ends as the command does.
//
// PERCENT of the time one thread or another is stopped. Where threads may not be stopped, the command runs without.
#include <dirent.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr auto kPause = std::chrono::milliseconds(10);

// The numbers that name something in this folder.
std::vector<pid_t> NumbersIn(const std::string& folder) {
  std::vector<pid_t> numbers;
  if (DIR* const directory = opendir(folder.c_str())) {
    while (const dirent* const entry = readdir(directory)) {
      if (const long number = std::strtol(entry->d_name, nullptr, 10); number > 0) {
        numbers.push_back(static_cast<pid_t>(number));
      }
    }
    closedir(directory);
  }
  return numbers;
}

pid_t GroupOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);  // empty: it has ended meanwhile
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  pid_t parent = 0, group = 0;
  fields >> state >> parent >> group;
  return group;
}

// All threads of all processes of the group.
std::vector<pid_t> ThreadsOf(pid_t group) {
  std::vector<pid_t> threads;
  for (const pid_t process : NumbersIn("/proc")) {
    if (GroupOf(process) != group) continue;
    for (const pid_t thread : NumbersIn("/proc/" + std::to_string(process) + "/task")) {
      threads.push_back(thread);
    }
  }
  return threads;
}

// Stops the thread for a moment. A signal that arrives meanwhile is passed on. Returns the thread's wait status if it
// has ended instead.
std::optional<int> Pause(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0)
    return std::nullopt;  // it has ended, or a debugger has it
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  int status = 0;
  if (waitpid(thread, &status, __WALL) != thread) return std::nullopt;
  if (!WIFSTOPPED(status)) return status;
  std::this_thread::sleep_for(kPause);
  const bool is_signal = status >> 16 == 0;  // and not the stop that was asked for
  const long signal = is_signal ? WSTOPSIG(status) : 0;
  if (ptrace(PTRACE_DETACH, thread, nullptr, reinterpret_cast<void*>(signal)) == 0) {
    return std::nullopt;
  }
  // Another thread has ended the program meanwhile. Nobody else learns of that until its end is taken here.
  return waitpid(thread, &status, __WALL) == thread ? std::optional(status) : std::nullopt;
}

bool HasEnded(int status) { return WIFEXITED(status) || WIFSIGNALED(status); }

}  // namespace

int main(int count, char** arguments) {
  const int percent = count > 2 ? std::atoi(arguments[1]) : 0;
  if (percent < 1 || percent > 100) {
    std::fprintf(stderr, "usage: pause_threads PERCENT COMMAND..., with a percent of 1 to 100\n");
    return 2;
  }
  const pid_t command = fork();
  if (command == 0) {
    setpgid(0, 0);
    execvp(arguments[2], arguments + 2);
    std::fprintf(stderr, "pause_threads: %s: %s\n", arguments[2], std::strerror(errno));
    _exit(127);
  }
  if (command < 0) {
    std::perror("pause_threads: fork");
    return 2;
  }
  setpgid(command, command);
  std::minstd_rand random(static_cast<unsigned>(command));
  int status = 0;
  while (waitpid(command, &status, WNOHANG) != command || !HasEnded(status)) {
    const std::vector<pid_t> threads = ThreadsOf(command);
    if (!threads.empty()) {
      const pid_t thread = threads[random() % threads.size()];
      const std::optional<int> ended = Pause(thread);
      if (thread == command && ended) {
        status = *ended;  // which is told once
        break;
      }
    }
    std::this_thread::sleep_for(kPause * (100 - percent) / percent);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
