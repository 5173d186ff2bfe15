#include <cluster/chaos/child.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ergon::chaos {
namespace {

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::system_category(), what);
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::vector<std::string>& environment,
             const std::string& errors) {
  // Of two values of one name a shell takes the last.
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(all, [&](const std::string& former) { return former.rfind(name, 0) == 0; });
    all.push_back(variable);
  }
  const std::vector<char*> arguments = Pointers(words);
  const std::vector<char*> variables = Pointers(all);
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) ThrowErrno("pipe");
  const int log = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) ThrowErrno(errors);
  pid_ = ::fork();
  if (pid_ < 0) ThrowErrno("fork");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    // A socket of the proxy's that is open here as well would not be closed when the proxy closes it.
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    ::execvpe(arguments[0], arguments.data(), variables.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  ::close(log);
  in_ = in[1];
  out_ = out[0];
  ::fcntl(out_, F_SETFL, O_NONBLOCK);
}

Child::~Child() {
  Kill();
  ::close(in_);
  ::close(out_);
}

void Child::Tell(const std::string& line) {
  const std::string bytes = line + "\n";
  // Who has ended does not listen; its status tells.
  if (::write(in_, bytes.data(), bytes.size()) < 0 && errno != EPIPE) ThrowErrno("to a child");
}

bool Child::HasSaid(const std::string& word) {
  Listen();
  return words_.contains(word);
}

void Child::Listen() {
  char some[512];
  for (;;) {
    const ssize_t size = ::read(out_, some, sizeof(some));
    if (size <= 0) return;
    for (const char c : std::string(some, static_cast<std::size_t>(size))) {
      if (c != '\n') {
        said_ += c;
        continue;
      }
      words_.insert(said_);
      said_.clear();
    }
  }
}

int Child::Status() {
  int status = 0;
  if (pid_ != 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = status;
    pid_ = 0;
  }
  return status_;
}

void Child::Signal(int signal) const {
  if (pid_ != 0) ::kill(pid_, signal);
}

void Child::Kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace ergon::chaos
