#include "writer.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include <fmt/core.h>

#include <ergon/gen/blocking.h>
#include <ergon/gen/node.h>

#include "error_text.h"

namespace logpipe {

using namespace ergon;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kEnough = 1 << 16;  // bytes, to be written at once
constexpr auto kMoment = 20ms;

}  // namespace

Writer::~Writer() {
  if (file_ > STDOUT_FILENO) ::close(file_);
}

gen::Status Writer::Init(const gen::Args&) {
  file_ = STDOUT_FILENO;
  if (options_.output != "-") {
    constexpr int kReadableByAll = 0666;
    // A named pipe that nobody reads is an error at once.
    file_ = ::open(options_.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK,
                   kReadableByAll);
  }
  if (file_ < 0) {
    return gen::Stop(gen::Reason::Error(
        fmt::format("cannot write to {}: {}", options_.output, ErrorText(errno))));
  }
  SetIdleTimeout(kMoment).value();
  return gen::Continue();
}

gen::Status Writer::HandleMessage(gen::PID from, gen::Message& message) {
  const auto* record = message.As<std::string>();
  if (record == nullptr) return Actor::HandleMessage(from, message);
  text_ += *record;
  text_ += '\n';
  if (text_.size() >= kEnough) Flush();
  return gen::Continue();
}

gen::Status Writer::HandleIdle() {
  Flush();
  return gen::Continue();
}

void Writer::Terminate(const gen::Reason&) { Flush(); }

void Writer::Flush() {
  std::string_view rest = text_;
  const int error = has_failed_ ? 0 : Write(rest);
  // Before an error, a part may have been written.
  const auto end = text_.end() - static_cast<std::ptrdiff_t>(rest.size());
  traffic_->written += static_cast<std::uint64_t>(std::count(text_.begin(), end, '\n'));
  if (error != 0) {
    std::fputs(
        fmt::format("logpipe: cannot write to {}: {}\n",
                    options_.output == "-" ? "standard output" : options_.output, ErrorText(error))
            .c_str(),
        stderr);
    has_failed_ = true;  // what comes from now on is not written
    ++traffic_->failed;
    Node().Stop();  // only begins
  }
  text_.clear();
}

int Writer::Write(std::string_view& text) const {
  const gen::Blocking blocking;
  while (!text.empty()) {
    const long written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EAGAIN) {  // a terminal that is an input, too
      pollfd output{file_, POLLOUT, 0};
      ::poll(&output, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      return errno;  // here: this may be another thread afterwards
    }
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace logpipe
