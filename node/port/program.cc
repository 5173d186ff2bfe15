#include <ergon/node/port/program.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

constexpr int kLongestLine = 16 * 1024 * 1024;

gen::Error CannotStart(const PortOptions& options, std::string_view what, int error) {
  return gen::Error(gen::ErrorCode::kInternal,
                    fmt::format("cannot start {}: {}{}", options.program, what,
                                std::generic_category().message(error)));
}

bool HasNull(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// The three ends that the program gets. Those that are not piped: empty.
using Ends = std::array<Descriptor, 3>;

// A pipe whose end on this side does not block. Its other end has a number that is none of the three: in the
// program those are set one after the other. 0, or an error.
int MakePipe(bool to_program, Descriptor& here, Descriptor& there) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  here = std::move(to_program ? write_end : read_end);
  const Descriptor other = std::move(to_program ? read_end : write_end);
  there = Descriptor(fcntl(other.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!there) return errno;
  return fcntl(here.number(), F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

// Null-terminated, for exec.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentOf(const PortOptions& options) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment)
    variables.push_back(fmt::format("{}={}", name, value));
  if (options.clear_environment) return variables;
  for (char** own = environ; own != nullptr && *own != nullptr; ++own) {
    const std::string_view variable(*own);
    const std::string name(variable.substr(0, variable.find('=')));
    if (!options.environment.contains(name)) variables.emplace_back(variable);
  }
  return variables;
}

// What is done between the beginning of the new process and that of the program, and how. posix_spawn does it
// without a copy of this process, with nothing that another thread might have locked, and returns the error of
// the step that has failed.
class Steps {
 public:
  Steps() {
    (void)posix_spawn_file_actions_init(&actions_);
    (void)posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    (void)posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    (void)posix_spawnattr_setsigdefault(&attributes_, &signals);
    (void)posix_spawnattr_setpgroup(&attributes_, 0);  // the first one of its own
    (void)posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Steps() {
    (void)posix_spawn_file_actions_destroy(&actions_);
    (void)posix_spawnattr_destroy(&attributes_);
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // 0, or an error: there is no memory.
  [[nodiscard]] int Add(const PortOptions& options, const Ends& ends) {
    const std::array streams{options.input, options.output, options.errors};
    for (int number = 0; number != 3; ++number) {
      const auto index = static_cast<std::size_t>(number);
      int error = 0;
      if (ends[index]) {
        error = posix_spawn_file_actions_adddup2(&actions_, ends[index].number(), number);
      } else if (streams[index] == PortStream::kNull) {
        error = posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDWR, 0);
      } else if (streams[index] == PortStream::kAsOutput) {
        error = posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, number);
      }
      if (error != 0) return error;
    }
    // Also what others have opened without O_CLOEXEC.
    const int error = posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    if (error != 0 || options.directory.empty()) return error;
    return posix_spawn_file_actions_addchdir_np(&actions_, options.directory.c_str());
  }

  [[nodiscard]] int Run(const PortOptions& options, pid_t& id) const {
    std::vector<std::string> arguments{options.program};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    std::vector<std::string> variables = EnvironmentOf(options);
    return posix_spawnp(&id, options.program.c_str(), &actions_, &attributes_,
                        Pointers(arguments).data(), Pointers(variables).data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

gen::Result<void> Program::Check() const {
  const PortOptions& options = options_;
  if (options.program.empty()) return Incorrect("program: is empty");
  if (HasNull(options.program)) return Incorrect("program: has a null character");
  if (HasNull(options.directory)) return Incorrect("directory: has a null character");
  for (std::size_t i = 0; i < options.arguments.size(); ++i) {
    if (!HasNull(options.arguments[i])) continue;
    return Incorrect(fmt::format("arguments[{}]: has a null character", i));
  }
  for (const auto& [name, value] : options.environment) {
    if (name.empty() || HasNull(name) || name.find('=') != std::string::npos || HasNull(value)) {
      return Incorrect(fmt::format("environment: '{}' cannot be set", name));
    }
  }
  if (options.input == PortStream::kAsOutput) {
    return Incorrect("input: kAsOutput is for errors only");
  }
  if (options.output == PortStream::kAsOutput) {
    return Incorrect("output: kAsOutput is for errors only");
  }
  if (options.lines < 0 || options.lines > kLongestLine) {
    return Incorrect(
        fmt::format("lines: {}, has to be in the range 0..{}", options.lines, kLongestLine));
  }
  if (options.window < 1) {
    return Incorrect(fmt::format("window: {}, has to be at least 1", options.window));
  }
  return CheckNotNegative("shutdown_timeout", options.shutdown_timeout);
}

gen::Result<void> Program::Start() {
  if (auto checked = Check(); !checked) return checked;
  Ends ends;
  const std::array streams{options_.input, options_.output, options_.errors};
  const std::array here{&input, &output, &errors};
  int error = 0;
  for (std::size_t i = 0; i != ends.size() && error == 0; ++i) {
    if (streams[i] == PortStream::kPipe) error = MakePipe(i == 0, *here[i], ends[i]);
  }
  if (error != 0) return CannotStart(options_, "pipes: ", error);
  Steps steps;
  error = steps.Add(options_, ends);
  pid_t id = 0;
  if (error == 0) error = steps.Run(options_, id);
  if (error != 0) {
    const bool is_directory =
        !options_.directory.empty() && access(options_.directory.c_str(), X_OK) != 0;
    return CannotStart(options_, is_directory ? options_.directory + ": " : "",
                       is_directory ? errno : error);
  }
  id_ = id;
  ended_ = false;
  // From Linux 5.3 on. Nobody else waits for the program, so that this is its number.
  process = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, id, 0)));
  return {};
}

bool Program::HasEnded() {
  if (ended_) return true;
  std::lock_guard lock(mutex_);
  if (ended_) return true;
  siginfo_t info{};
  // Only looks: while it is a zombie its number, and that of its group, is nobody else's.
  const int looked = waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (looked == 0 && info.si_pid == 0) return false;
  if (looked != 0 && errno == EINTR) return false;
  if (looked == 0) (void)kill(-id_, SIGKILL);
  int status = 0;
  if (looked == 0 && waitpid(id_, &status, 0) == id_) {
    if (WIFEXITED(status)) exit_.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) exit_.signal = WTERMSIG(status);
  }
  ended_ = true;
  return true;
}

bool Program::Signal(int number) {
  std::lock_guard lock(mutex_);
  if (ended_) return true;
  (void)kill(-id_, number);
  const bool has_left = getpgid(id_) != id_;
  return kill(id_, has_left ? number : 0) == 0 || errno != EPERM;
}

void Program::KillAndWait() {
  while (!HasEnded()) {
    if (!Signal(SIGKILL)) return;
    (void)poll(nullptr, 0, 1);  // ms; soon: only the system itself can hold it up, as for a disk
  }
}

PortExit Program::exit() const {
  std::lock_guard lock(mutex_);
  return exit_;
}

}  // namespace ergon::node
