// Writes frames: the control tuples of signals and what follows them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/dist/big_endian.h>
#include <ergon/node/dist/operations.h>

namespace ergon::dist {

// One frame at the end of a string. The room it needs is made first: only the constructor throws
// (std::bad_alloc), and a frame is there completely or not at all.
//
// Small pieces are gathered before they are appended: a string looks at its capacity each time.
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
  // Tag, node (at most 255 bytes, with a length of one), ID, serial and creation.
  static constexpr std::size_t kMostPidBytes = 1 + 2 + gen::Atom::kMaxBytes + 12;
  // No signal has more than three PIDs. The rest: tags, lengths, numbers, and the names of options.
  static constexpr std::size_t kMostSmallBytes = 3 * kMostPidBytes + 128;
  static constexpr std::size_t kMostTextBytes = 256;  // that are gathered

  void Byte(std::uint8_t byte) noexcept { *next_++ = static_cast<char>(byte); }
  template <std::unsigned_integral T>
  void BigEndian(T value) noexcept {
    WriteBigEndian(next_, value);
    next_ += sizeof(value);
  }
  // A text is gathered, too, if it is short: the next of them has less room.
  void Append(std::string_view text);
  void Spill();

  std::string& out_;
  const std::size_t begin_;
  std::size_t text_room_ = kMostTextBytes;
  char small_[kMostSmallBytes + kMostTextBytes];  // what has been gathered ends at next_
  char* next_ = small_;
};

}  // namespace ergon::dist
