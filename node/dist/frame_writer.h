// Writes frames: the control tuples of signals and what follows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/dist/operations.h>

namespace ergon::dist {

// One frame at the end of a string. The room it needs is made first: only the constructor throws
// (std::bad_alloc), and a frame is there completely or not at all.
class FrameWriter {
 public:
  // `text_bytes`: of all names, references and payloads that will be written.
  FrameWriter(std::string& out, std::size_t text_bytes);
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // The head of the control tuple; `elements` behind the operation's number are next.
  FrameWriter& Begin(Operation operation, std::size_t elements);
  FrameWriter& Tuple(std::size_t elements);
  // A list of atoms.
  FrameWriter& Options(std::uint8_t links);
  FrameWriter& Pid(const gen::PID& pid);
  FrameWriter& Atom(std::string_view text);
  FrameWriter& Number(std::uint64_t number);
  // As it is.
  FrameWriter& Term(std::string_view term);
  // What follows the tuple.
  FrameWriter& Payload(std::string_view term);

 private:
  void Byte(std::uint8_t byte) { out_.push_back(static_cast<char>(byte)); }

  std::string& out_;
  const std::size_t begin_;
};

}  // namespace ergon::dist
