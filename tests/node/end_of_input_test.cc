#include <doctest/doctest.h>

#include <ergon/node/end_of_input.h>

#include <array>
#include <string_view>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ergon/node/node.h>

#include <kit/eventually.h>

namespace ergon::node::end_of_input_test {
namespace {

// A pipe in the place of the program's standard input.
class PipedInput {
 public:
  PipedInput() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    REQUIRE(::dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    ::close(ends[0]);
    writer_ = ends[1];
  }
  ~PipedInput() {
    Close();
    ::dup2(former_, STDIN_FILENO);
    ::close(former_);
  }
  PipedInput(const PipedInput&) = delete;
  PipedInput& operator=(const PipedInput&) = delete;

  void Write(std::string_view text) const {
    REQUIRE(::write(writer_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void Close() {
    if (writer_ >= 0) ::close(writer_);
    writer_ = -1;
  }
  [[nodiscard]] static int Waiting() {
    int bytes = -1;
    REQUIRE(::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0);
    return bytes;
  }
  [[nodiscard]] static bool IsBlocking() {
    return (::fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK) == 0;
  }

 private:
  const int former_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  int writer_ = -1;
};

}  // namespace

TEST_CASE("the end of input stops the node, what comes before does not") {
  PipedInput input;
  Node node = Start("input@localhost", {}).value();
  const gen::PID watch = StopAtEndOfInput(node).value();
  input.Write("what nobody reads");
  REQUIRE(kit::Eventually([] { return PipedInput::Waiting() == 0; }));
  CHECK(node.ProcessInfo(watch));
  input.Close();
  REQUIRE(node.WaitProcess(watch, kit::kDeadline));  // before it ends, it begins to stop the node
  node.Wait();
  CHECK(node.StopReason() == gen::Reason::Shutdown());
  CHECK(PipedInput::IsBlocking());
}

TEST_CASE("the end of input: a node that stops for another reason leaves the input as it was") {
  PipedInput input;
  Node node = Start("input@localhost", {}).value();
  REQUIRE(StopAtEndOfInput(node));
  REQUIRE(kit::Eventually([] { return !PipedInput::IsBlocking(); }));
  node.Stop();
  CHECK(PipedInput::IsBlocking());
}

TEST_CASE("the end of input: a process that is killed stops nothing") {
  PipedInput input;
  Node node = Start("input@localhost", {}).value();
  const gen::PID watch = StopAtEndOfInput(node).value();
  REQUIRE(kit::Eventually([] { return !PipedInput::IsBlocking(); }));
  REQUIRE(node.Kill(watch));
  REQUIRE(node.WaitProcess(watch));
  input.Close();
  CHECK(PipedInput::IsBlocking());
  const gen::Reason reason = gen::Reason::Error("of the test");
  node.Stop(reason);
  CHECK(node.StopReason() == reason);  // so it did not stop before
}

}  // namespace ergon::node::end_of_input_test
