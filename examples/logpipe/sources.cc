#include "sources.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include <ergon/gen/blocking.h>
#include <ergon/node/await.h>

#include "error_text.h"

namespace logpipe {

using namespace ergon;
using asio::ip::udp;

namespace {

constexpr std::size_t kChunk = 1 << 16;        // bytes
constexpr std::size_t kLongestLine = 1 << 20;  // bytes; what is longer is malformed
constexpr std::size_t kLargestDatagram = 1 << 16;

}  // namespace

// -- files --

FileSource::~FileSource() {
  if (pipe_ != nullptr) {
    pipe_.reset();
  } else if (file_ > STDIN_FILENO) {
    ::close(file_);
  }
}

gen::Status FileSource::Init(const gen::Args&) {
  struct stat status = {};
  if (const int error = Open(status); error != 0) {
    return gen::Stop(
        gen::Reason::Error(fmt::format("cannot read {}: {}", name_, ErrorText(error))));
  }
  if (!S_ISREG(status.st_mode)) {
    waits_for_writer_ = name_ != "-" && S_ISFIFO(status.st_mode);
    pipe_ = std::make_unique<asio::posix::stream_descriptor>(node::IoContext(Node()), file_);
  }
  chunk_.resize(kChunk);
  (void)Send(Self(), Read{});
  return gen::Continue();
}

int FileSource::Open(struct stat& status) {
  const gen::Blocking blocking;
  // Without O_NONBLOCK the open of a named pipe waits for somebody who writes, and nothing ends that wait.
  file_ =
      name_ == "-" ? ::dup(STDIN_FILENO) : ::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0 || ::fstat(file_, &status) != 0) return errno;
  return S_ISDIR(status.st_mode) ? EISDIR : 0;
}

gen::Status FileSource::HandleMessage(gen::PID from, gen::Message& message) {
  if (!message.Is<Read>()) return Actor::HandleMessage(from, message);
  const long bytes = ReadChunk();
  if (bytes > 0) {
    SendLines(std::string_view(chunk_).substr(0, static_cast<std::size_t>(bytes)));
    (void)Send(Self(), Read{});
    return gen::Continue();
  }
  is_done_ = true;
  if (bytes == 0) SendRest();
  return gen::Stop(gen::Reason::Normal());
}

void FileSource::Terminate(const gen::Reason&) {
  if (pipe_ != nullptr) SendRest();  // nobody else has it; a file has the whole line
  if (pipe_ != nullptr || is_done_) return;
  std::fputs(fmt::format("logpipe: {}: not read to its end\n", name_).c_str(), stderr);
  ++traffic_->failed;
}

long FileSource::ReadChunk() {
  int error = 0;
  if (pipe_ != nullptr) {
    // Before the first writer has come, a read would say that the last one has gone.
    const bool waits = std::exchange(waits_for_writer_, false);
    if (waits && !pipe_->async_wait(asio::posix::stream_descriptor::wait_read, node::AwaitOrStop()))
      return -1;
    const auto bytes = pipe_->async_read_some(asio::buffer(chunk_), node::AwaitOrStop());
    if (bytes) return static_cast<long>(*bytes);
    if (bytes.error() == asio::error::eof) return 0;
    if (bytes.error() == asio::error::operation_aborted) return -1;
    error = bytes.error().value();
  } else {
    const gen::Blocking blocking;
    const long bytes = ::read(file_, chunk_.data(), chunk_.size());
    if (bytes >= 0) return bytes;
    error = errno;  // here: this may be another thread afterwards
  }
  std::fputs(fmt::format("logpipe: {}: {}\n", name_, ErrorText(error)).c_str(), stderr);
  ++traffic_->failed;
  return -1;
}

void FileSource::SendLines(std::string_view chunk) {
  for (;;) {
    const std::size_t end = chunk.find('\n');
    const std::string_view part = chunk.substr(0, end);
    if (begun_.size() + part.size() > kLongestLine) is_long_ = true;
    if (is_long_) {
      begun_.clear();
    } else {
      begun_ += part;
    }
    if (end == std::string_view::npos) return;
    SendLine(std::exchange(begun_, {}));
    is_long_ = false;
    chunk.remove_prefix(end + 1);
  }
}

void FileSource::SendRest() {
  if (!begun_.empty() || is_long_) SendLine(std::exchange(begun_, {}));
  is_long_ = false;
}

void FileSource::SendLine(std::string line) {
  ++traffic_->read;
  if (is_long_) {
    ++traffic_->malformed;
  } else if (auto sent = SendOrWait(kParsers, Line{std::move(line)}, gen::kInfinite); !sent) {
    ++traffic_->failed;
    Log().Error("{}: a line is lost: {}", name_, sent.error());
  }
}

// -- datagrams --

gen::Status UdpSource::Init(const gen::Args&) {
  std::error_code error;
  const auto address = asio::ip::make_address(options_.address, error);
  if (error) {
    return gen::Stop(gen::Reason::Error(
        fmt::format("--address: \"{}\" is not an IP address", options_.address)));
  }
  const udp::endpoint endpoint(address, *options_.udp);
  socket_ = std::make_unique<udp::socket>(node::IoContext(Node()));
  socket_->open(endpoint.protocol(), error);
  if (!error) socket_->bind(endpoint, error);
  if (error) {
    return gen::Stop(
        gen::Reason::Error(fmt::format("cannot take datagrams at {} port {}: {}", options_.address,
                                       *options_.udp, error.message())));
  }
  std::fputs(
      fmt::format("listening at {} port {}\n", options_.address, socket_->local_endpoint().port())
          .c_str(),
      stderr);
  (void)Send(Self(), Receive{});
  return gen::Continue();
}

gen::Status UdpSource::HandleMessage(gen::PID from, gen::Message& message) {
  if (!message.Is<Receive>()) return Actor::HandleMessage(from, message);
  std::string datagram(kLargestDatagram, '\0');
  udp::endpoint sender;
  const auto bytes =
      socket_->async_receive_from(asio::buffer(datagram), sender, node::AwaitOrStop());
  if (!bytes) {
    if (bytes.error() == asio::error::operation_aborted) return gen::Continue();  // it is to stop
    ++traffic_->failed;
    std::fputs(fmt::format("logpipe: datagrams: {}\n", bytes.error().message()).c_str(), stderr);
    return gen::Stop(gen::Reason::Error(bytes.error().message()));
  }
  ++traffic_->read;
  std::string_view line(datagram.data(), *bytes);
  while (line.ends_with('\n') || line.ends_with('\0')) line.remove_suffix(1);
  if (auto sent = SendOrWait(kParsers, Line{std::string(line)}, gen::kInfinite); !sent) {
    ++traffic_->failed;
    Log().Error("a datagram is lost: {}", sent.error());
  }
  (void)Send(Self(), Receive{});
  return gen::Continue();
}

}  // namespace logpipe
