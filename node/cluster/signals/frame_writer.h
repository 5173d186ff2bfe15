// Writes frames: the control tuples of signals and what follows them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/atom.h>
#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/signals/control_tags.h>
#include <ergon/node/cluster/signals/operations.h>
#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::dist {

// The length that stands in front of every frame.
inline constexpr std::size_t kFrameLengthBytes = 4;
// Returns the length of the first frame in `bytes`, without the kFrameLengthBytes, which must be there.
[[nodiscard]] inline std::size_t FrameLengthAt(std::string_view bytes) {
  return ReadBigEndian<std::uint32_t>(bytes);
}
// The first byte of a frame without a distribution header.
inline constexpr std::uint8_t kPassThroughFrame = 112;

// Returns the error of CheckFrame.
[[nodiscard]] gen::Error FrameTooLarge(std::size_t bytes, std::size_t most, gen::Atom peer);
// Returns kIncorrect if a frame of so many bytes, without its length, is larger than `most`. A peer does not say how
// large a frame it takes. This node assumes that the peer takes as much as this node (ErlangOptions::max_frame_bytes),
// and less than 4 GiB in any case.
[[nodiscard]] inline gen::Result<void> CheckFrame(std::size_t bytes, std::size_t most,
                                                  gen::Atom peer) {
  if (bytes <= most) [[likely]]
    return {};
  return FrameTooLarge(bytes, most, peer);
}

// Returns whether a frame of this node's, with its length, has a trace token.
[[nodiscard]] bool HasToken(std::string_view frame) noexcept;

// Writes the length of the frame that begins at `begin` and ends with the string.
void CloseFrame(std::string& out, std::size_t begin) noexcept;

// Writes one frame at the end of a string. The constructor reserves the room that the frame needs: only it throws
// (std::bad_alloc), and a frame is written completely or not at all.
//
// Small pieces are gathered before they are appended, because a string looks at its capacity each time.
class FrameWriter {
 public:
  // `text_bytes` is the size of all names, references and payloads that will be written.
  FrameWriter(std::string& out, std::size_t text_bytes);
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // Writes the head of the control tuple. The caller writes `elements` more behind the operation's number.
  FrameWriter& Begin(Operation operation, std::size_t elements) {
    Byte(kPassThroughFrame);
    Byte(kVersionByte);
    Tuple(1 + elements);
    Byte(kSmallIntegerTag);
    Byte(static_cast<std::uint8_t>(operation));
    return *this;
  }
  FrameWriter& Tuple(std::size_t elements) {
    Byte(kSmallTupleTag);
    Byte(static_cast<std::uint8_t>(elements));
    return *this;
  }
  // Writes the options of a spawn request, a list of atoms.
  FrameWriter& Options(std::uint8_t links);
  FrameWriter& Pid(const gen::PID& pid) {
    const std::string_view node = pid.node.Text();
    Byte(kNewPidTag);
    Byte(kSmallAtomUtf8Tag);
    Byte(static_cast<std::uint8_t>(node.size()));
    next_ = std::copy(node.begin(), node.end(), next_);
    BigEndian(static_cast<std::uint32_t>(pid.id));
    BigEndian(static_cast<std::uint32_t>(pid.id >> 32));
    BigEndian(pid.creation);
    return *this;
  }
  FrameWriter& Atom(std::string_view text);
  FrameWriter& Number(std::uint64_t number);
  // Writes a term as it is.
  FrameWriter& Term(std::string_view term) {
    Append(term);
    return *this;
  }
  // Writes the term that follows the tuple.
  FrameWriter& Payload(std::string_view term) {
    Byte(kVersionByte);
    return Term(term);
  }

 private:
  // Tag, node (at most 255 bytes, with a length of one), ID, serial and creation.
  static constexpr std::size_t kMostPidBytes = 1 + 2 + gen::Atom::kMaxBytes + 12;
  // No signal has more than three PIDs. The rest is for tags, lengths, numbers and the names of options.
  static constexpr std::size_t kMostSmallBytes = 3 * kMostPidBytes + 128;
  static constexpr std::size_t kMostTextBytes = 256;  // of the texts that are gathered

  void Byte(std::uint8_t byte) noexcept { *next_++ = static_cast<char>(byte); }
  template <std::unsigned_integral T>
  void BigEndian(T value) noexcept {
    WriteBigEndian(next_, value);
    next_ += sizeof(value);
  }
  // Gathers a short text, too; the next text has less room then. Appends a long text to the string.
  void Append(std::string_view text) {
    if (text.size() <= text_room_) {
      text_room_ -= text.size();
      next_ = std::copy(text.begin(), text.end(), next_);
      return;
    }
    Spill();
    out_.append(text);
  }
  void Spill();

  std::string& out_;
  const std::size_t begin_;
  std::size_t text_room_ = kMostTextBytes;
  char small_[kMostSmallBytes + kMostTextBytes];  // what has been gathered ends at next_
  char* next_ = small_;
};

}  // namespace ergon::dist
