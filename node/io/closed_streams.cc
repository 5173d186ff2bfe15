#include <ergon/node/io/closed_streams.h>

#include <cerrno>
#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

namespace ergon::node {

void OccupyClosedStreams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    (void)::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace ergon::node
