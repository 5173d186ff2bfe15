#include <ergon/node/port/output_reader.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <ergon/node/await.h>
#include <ergon/node/port/delivery_to_owner.h>

namespace ergon::node {
namespace {

constexpr std::size_t kChunk = 65'536;  // what a pipe holds, as a rule
// How often one that was asked to stop too early looks whether the program has ended.
constexpr std::chrono::milliseconds kLook(50);

// The stream, read piece by piece.
class Stream {
 public:
  Stream(gen::Process& self, const Program& program, Descriptor end)
      : program_(program), end_(IoContext(self.Node())) {
    end_.assign(end.number());
    (void)end.Release();
  }

  // Empty: it has ended, or the process is being ended.
  std::string_view Next() {
    for (;;) {
      // What has been written before is in the pipe. Others may hold that open for ever.
      if (program_.ended()) return Rest();
      auto read = stopping_ ? end_.async_read_some(asio::buffer(buffer_), Await(kLook))
                            : end_.async_read_some(asio::buffer(buffer_), AwaitOrStop());
      if (read) return {buffer_.data(), *read};
      if (read.error() == asio::error::eof) return {};
      if (read.error() == asio::error::timed_out) continue;
      if (read.error() != asio::error::operation_aborted) {
        throw std::system_error(read.error(), "the program's output cannot be read");
      }
      if (std::exchange(stopping_, true)) return {};
    }
  }

 private:
  // What was in the pipe at the first look: others may write for ever.
  std::string_view Rest() {
    if (!left_) {
      int bytes = 0;
      left_ =
          ioctl(end_.native_handle(), FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
    }
    for (;;) {
      const std::size_t most = std::min(*left_, buffer_.size());
      const ssize_t size = read(end_.native_handle(), buffer_.data(), most);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return {};
      *left_ -= static_cast<std::size_t>(size);
      return {buffer_.data(), static_cast<std::size_t>(size)};
    }
  }

  const Program& program_;
  asio::posix::stream_descriptor end_;
  std::string buffer_ = std::string(kChunk, '\0');
  bool stopping_ = false;            // asked to, or being ended
  std::optional<std::size_t> left_;  // bytes, once the program has ended
};

// From pieces to lines.
class Lines {
 public:
  Lines(const OutputReader& reader, DeliveryToOwner& owner)
      : reader_(reader),
        owner_(owner),
        longest_(static_cast<std::size_t>(reader.program->options().lines)) {}

  // False: as DeliveryToOwner::Send.
  bool Add(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t room = longest_ - begun_.size();
      const std::size_t size = piece.substr(0, room + 1).find('\n');
      if (size != std::string_view::npos) {
        begun_ += piece.substr(0, size);
        piece.remove_prefix(size + 1);
        if (!Send(true)) return false;
      } else if (piece.size() > room) {
        begun_ += piece.substr(0, room);
        piece.remove_prefix(room);
        if (!Send(false)) return false;
      } else {
        begun_ += piece;
        piece = {};
      }
    }
    return true;
  }
  void End() {
    if (!begun_.empty()) (void)Send(false);
  }

 private:
  bool Send(bool ends_line) {
    return owner_.Send(PortData{reader_.port, reader_.which, std::exchange(begun_, {}), ends_line});
  }

  const OutputReader& reader_;
  DeliveryToOwner& owner_;
  const std::size_t longest_;
  std::string begun_;
};

}  // namespace

void OutputReader::operator()(gen::Process& self) const {
  Descriptor& end = which == PortOutput::kOutput ? program->output : program->errors;
  Stream stream(self, *program, std::move(end));
  DeliveryToOwner delivery(self, *program, owner);
  const bool in_lines = program->options().lines > 0;
  Lines lines(*this, delivery);
  for (auto piece = stream.Next(); !piece.empty(); piece = stream.Next()) {
    const bool goes_on =
        in_lines ? lines.Add(piece) : delivery.Send(PortData{port, which, std::string(piece)});
    if (!goes_on) return;
  }
  if (in_lines) lines.End();
}

}  // namespace ergon::node
