#include "output.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace treesum {

void Output::Write(std::string_view text) {
  while (!text.empty() && error_.empty()) {
    ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // somebody has made it non-blocking
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      Fail(errno);
    }
  }
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
