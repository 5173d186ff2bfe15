// Where lines come from: each source is a process that waits while the parsers have no room.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <asio/ip/udp.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <ergon/act/actor.h>

#include "options.h"
#include "record.h"
#include "traffic.h"

namespace logpipe {

inline constexpr const char* kParsers = "parsers";

// A file, a named pipe or standard input; ends with it. One chunk is one message to itself, so that a stop comes
// between two of them.
class FileSource : public ergon::act::Actor {
 public:
  // `name`: "-" is standard input.
  FileSource(std::string name, std::shared_ptr<Traffic> traffic)
      : name_(std::move(name)), traffic_(std::move(traffic)) {}
  ~FileSource() override;

 private:
  struct Read {};
  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;
  void Terminate(const ergon::gen::Reason& reason) override;

  // 0, or the error.
  int Open(struct stat& status);
  // How many bytes; 0: the end; less: an error, which was told, or it is to stop.
  long ReadChunk();
  void SendLines(std::string_view chunk);
  void SendRest();  // the line without an end
  void SendLine(std::string line);

  const std::string name_;
  const std::shared_ptr<Traffic> traffic_;
  int file_ = -1;
  std::unique_ptr<asio::posix::stream_descriptor> pipe_;  // null: a regular file
  bool waits_for_writer_ = false;                         // a named pipe that nobody has written to
  std::string chunk_;
  std::string begun_;     // a line whose end has not come yet
  bool is_long_ = false;  // it is too long to be kept
  bool is_done_ = false;  // read to the end, or to an error
};

// Datagrams, of one line each.
class UdpSource : public ergon::act::Actor {
 public:
  UdpSource(Options options, std::shared_ptr<Traffic> traffic)
      : options_(std::move(options)), traffic_(std::move(traffic)) {}

 private:
  struct Receive {};
  ergon::gen::Status Init(const ergon::gen::Args& args) override;
  ergon::gen::Status HandleMessage(ergon::gen::PID from, ergon::gen::Message& message) override;

  const Options options_;
  const std::shared_ptr<Traffic> traffic_;
  std::unique_ptr<asio::ip::udp::socket> socket_;
};

}  // namespace logpipe
