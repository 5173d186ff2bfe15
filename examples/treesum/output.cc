#include "output.h"

#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace treesum {
namespace {

constexpr int kStopCheckMilliseconds = 50;

bool IsRegularFile(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Output::Output(std::stop_token stop)
    : stop_(std::move(stop)), may_wait_(!IsRegularFile(STDOUT_FILENO)) {}

std::size_t Output::Write(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size() && error_.empty()) {
    std::string_view rest = text.substr(done);
    if (may_wait_) {
      if (!WaitUntilReady()) break;
      rest = rest.substr(0, PIPE_BUF);  // a pipe that is ready takes this much without waiting
    }
    ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR && errno != EAGAIN) {
      Fail(errno);
    }
  }
  return done;
}

// Returns false if the stop is requested first.
bool Output::WaitUntilReady() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  while (::poll(&output, 1, kStopCheckMilliseconds) == 0) {
    if (stop_.stop_requested()) return false;
  }
  return true;
}

void Output::Close() {
  if (::close(STDOUT_FILENO) != 0 && errno != EINTR) Fail(errno);
}

void Output::Fail(int error_number) {
  if (error_.empty()) error_ = std::system_category().message(error_number);
}

void OccupyStandardDescriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The wrong way round: reading from 0 and writing to 1 or 2 goes on failing. The lowest free
    // number is this one.
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace treesum
