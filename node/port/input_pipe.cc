#include <ergon/node/port/input_pipe.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>
#include <asio/posix/stream_descriptor.hpp>

#include <ergon/core/foundations/number_text.h>
#include <ergon/node/await.h>

namespace ergon::node {
namespace {

// How often a write that waits looks whether the program has ended.
constexpr std::chrono::milliseconds kLookForEnd(50);

// As write(), without the signal SIGPIPE, which would end this program: it is raised in the thread that
// writes, which blocks it meanwhile and takes it back. There is no flag for pipes, and sockets in their
// place would be noticed by programs that open /dev/stdin.
ssize_t WriteQuietly(int descriptor, std::string_view bytes) {
  sigset_t broken_pipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  (void)sigpending(&pending);
  const ssize_t written = write(descriptor, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    (void)sigtimedwait(&broken_pipe, nullptr, &at_once);
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

std::string TextOf(int error) { return std::generic_category().message(error); }

}  // namespace

struct InputPipe::Pipe {
  using Clock = std::chrono::steady_clock;

  asio::posix::stream_descriptor end;
  bool stopping = false;  // the process was asked to
  Clock::time_point began = {};
};

InputPipe::InputPipe(gen::Node& node, Program& program) : program_(program) {
  if (!program.input) return;
  pipe_ = std::make_unique<Pipe>(Pipe{asio::posix::stream_descriptor(IoContext(node))});
  pipe_->end.assign(program.input.number());
  (void)program.input.Release();
}

InputPipe::~InputPipe() = default;

void InputPipe::Close() { pipe_ = nullptr; }

std::string InputPipe::AwaitRoom() {
  const auto wait = [&](AwaitToken token) {
    return pipe_->end.async_wait(asio::posix::stream_descriptor::wait_write, token);
  };
  while (!pipe_->stopping) {
    // Others may hold the pipe open for ever, and not read from it.
    if (program_.ended()) return TextOf(EPIPE);
    auto waited = wait(AwaitOrStop(kLookForEnd));
    if (waited) return {};
    if (waited.error() == asio::error::timed_out) continue;
    if (waited.error() != asio::error::operation_aborted) return waited.error().message();
    pipe_->stopping = true;
    pipe_->began = Pipe::Clock::now();
  }
  const auto timeout = program_.options().shutdown_timeout;
  for (;;) {
    if (program_.ended()) return TextOf(EPIPE);
    std::chrono::nanoseconds slice = kLookForEnd;
    if (timeout != gen::kInfinite) {
      const auto left = timeout - (Pipe::Clock::now() - pipe_->began);
      slice = std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds::zero(), slice);
    }
    // At once, if it was not asked but is being ended.
    auto waited = wait(Await(slice));
    if (waited) return {};
    if (waited.error() == asio::error::operation_aborted) return "the port is being ended";
    if (waited.error() != asio::error::timed_out) return waited.error().message();
    if (slice.count() == 0) {
      return fmt::format(
          "the port was asked to stop, and the program has not taken it within shutdown_timeout "
          "({})",
          core::ExactTime(timeout));
    }
  }
}

gen::Result<std::size_t> InputPipe::Write(std::string_view bytes) {
  if (pipe_ == nullptr) return gen::Error("the program's input is closed");
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = WriteQuietly(pipe_->end.native_handle(), rest);
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    const std::string why = errno == EAGAIN ? AwaitRoom() : TextOf(errno);
    if (why.empty()) continue;
    Close();  // half of what was meant is of no use to anybody
    return gen::Error(fmt::format("the program's input was closed after {} of {} bytes: {}",
                                  bytes.size() - rest.size(), bytes.size(), why));
  }
  return bytes.size();
}

}  // namespace ergon::node
