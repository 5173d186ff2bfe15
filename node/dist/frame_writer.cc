#include <ergon/node/dist/frame_writer.h>

#include <cstring>

#include <ergon/node/dist/big_endian.h>
#include <ergon/node/dist/control_tags.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kFrameLengthBytes = 4;
constexpr std::uint8_t kPassThrough = 112;  // a frame without a distribution header

// Tag, node (at most 255 bytes, with a length of one), ID, serial and creation.
constexpr std::size_t kMostPidBytes = 1 + 2 + gen::Atom::kMaxBytes + 12;
// No signal has more than three PIDs. The rest: tags, lengths, numbers, and the names of options.
constexpr std::size_t kMostControlBytes = 3 * kMostPidBytes + 128;

constexpr std::size_t kShortAtomBytes = 255;

}  // namespace

FrameWriter::FrameWriter(std::string& out, std::size_t text_bytes) : out_(out), begin_(out.size()) {
  out.reserve(begin_ + kMostControlBytes + text_bytes);
  out.append(kFrameLengthBytes, '\0');
}

FrameWriter::~FrameWriter() {
  const std::size_t length = out_.size() - begin_ - kFrameLengthBytes;
  WriteBigEndian(out_.data() + begin_, static_cast<std::uint32_t>(length));
}

FrameWriter& FrameWriter::Begin(Operation operation, std::size_t elements) {
  Byte(kPassThrough);
  Byte(kVersionByte);
  return Tuple(1 + elements).Number(static_cast<std::uint64_t>(operation));
}

FrameWriter& FrameWriter::Tuple(std::size_t elements) {
  Byte(kSmallTupleTag);
  Byte(static_cast<std::uint8_t>(elements));
  return *this;
}

FrameWriter& FrameWriter::Options(std::uint8_t links) {
  const bool links_it = (links & kLinked) != 0;
  const bool monitors_it = (links & kMonitored) != 0;
  if (links_it || monitors_it) {
    Byte(kListTag);
    AppendBigEndian(out_, static_cast<std::uint32_t>(links_it && monitors_it ? 2 : 1));
    if (links_it) Atom("link");
    if (monitors_it) Atom("monitor");
  }
  Byte(kEmptyListTag);
  return *this;
}

FrameWriter& FrameWriter::Pid(const gen::PID& pid) {
  const std::string_view node = pid.node.Text();
  char bytes[kMostPidBytes];
  bytes[0] = static_cast<char>(kNewPidTag);
  bytes[1] = static_cast<char>(kSmallAtomUtf8Tag);
  bytes[2] = static_cast<char>(node.size());
  if (!node.empty()) std::memcpy(bytes + 3, node.data(), node.size());
  char* const numbers = bytes + 3 + node.size();
  WriteBigEndian(numbers, static_cast<std::uint32_t>(pid.id));
  WriteBigEndian(numbers + 4, static_cast<std::uint32_t>(pid.id >> 32));
  WriteBigEndian(numbers + 8, pid.creation);
  out_.append(bytes, 3 + node.size() + 12);
  return *this;
}

FrameWriter& FrameWriter::Atom(std::string_view text) {
  if (text.size() <= kShortAtomBytes) {
    Byte(kSmallAtomUtf8Tag);
    Byte(static_cast<std::uint8_t>(text.size()));
  } else {
    Byte(kAtomUtf8Tag);
    AppendBigEndian(out_, static_cast<std::uint16_t>(text.size()));
  }
  out_.append(text);
  return *this;
}

FrameWriter& FrameWriter::Number(std::uint64_t number) {
  if (number <= 0xff) {
    Byte(kSmallIntegerTag);
    Byte(static_cast<std::uint8_t>(number));
    return *this;
  }
  if (number <= 0x7fffffff) {
    Byte(kIntegerTag);
    AppendBigEndian(out_, static_cast<std::uint32_t>(number));
    return *this;
  }
  // Bytes from the lowest on, without zeros at the end.
  Byte(kSmallBigTag);
  const std::size_t size_at = out_.size();
  Byte(0);
  Byte(0);  // not negative
  std::uint8_t size = 0;
  for (; number != 0; number >>= 8, ++size) Byte(static_cast<std::uint8_t>(number));
  out_[size_at] = static_cast<char>(size);
  return *this;
}

FrameWriter& FrameWriter::Term(std::string_view term) {
  out_.append(term);
  return *this;
}

FrameWriter& FrameWriter::Payload(std::string_view term) {
  Byte(kVersionByte);
  return Term(term);
}

}  // namespace ergon::dist
