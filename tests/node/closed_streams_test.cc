#include <doctest/doctest.h>

#include <ergon/node/io/closed_streams.h>

#include <cerrno>
#include <initializer_list>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ergon::node::closed_streams_test {
namespace {

// Runs `function` in a process of its own, and returns what that returns. `function` must call nothing that takes a
// lock: other threads may hold that.
template <class Function>
int InChild(Function function) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(function());
  REQUIRE(pid != -1);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

bool IsBad(ssize_t result) { return result == -1 && errno == EBADF; }

}  // namespace

TEST_CASE(
    "closed streams: what is opened later does not get their numbers, and who uses them gets an "
    "error") {
  CHECK(InChild([] {
          for (const int number : {0, 1, 2}) (void)::close(number);
          OccupyClosedStreams();
          char byte = 0;
          if (!IsBad(::read(0, &byte, 1))) return 1;
          if (!IsBad(::write(1, &byte, 1))) return 2;
          if (!IsBad(::write(2, &byte, 1))) return 3;
          return ::open("/dev/null", O_RDONLY) > 2 ? 0 : 4;
        }) == 0);
}

TEST_CASE("closed streams: open ones stay what they are") {
  CHECK(InChild([] {
          int ends[2];
          if (::pipe(ends) != 0 || ::dup2(ends[0], 0) != 0 || ::dup2(ends[1], 2) != 2) return 1;
          (void)::close(1);
          OccupyClosedStreams();
          char byte = 'a';
          if (::write(2, &byte, 1) != 1) return 2;
          byte = 0;
          if (::read(0, &byte, 1) != 1 || byte != 'a') return 3;
          return IsBad(::write(1, &byte, 1)) ? 0 : 4;
        }) == 0);
}

}  // namespace ergon::node::closed_streams_test
