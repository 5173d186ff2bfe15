#include <ergon/node/dist/frame_writer.h>

#include <algorithm>
#include <cstring>

#include <ergon/node/dist/big_endian.h>
#include <ergon/node/dist/control_tags.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kFrameLengthBytes = 4;
constexpr std::uint8_t kPassThrough = 112;  // a frame without a distribution header

constexpr std::size_t kShortAtomBytes = 255;

}  // namespace

FrameWriter::FrameWriter(std::string& out, std::size_t text_bytes) : out_(out), begin_(out.size()) {
  out.reserve(begin_ + kFrameLengthBytes + kMostSmallBytes + text_bytes);
  next_ += kFrameLengthBytes;  // written at the end
}

FrameWriter::~FrameWriter() {
  Spill();
  const std::size_t length = out_.size() - begin_ - kFrameLengthBytes;
  WriteBigEndian(out_.data() + begin_, static_cast<std::uint32_t>(length));
}

void FrameWriter::Append(std::string_view text) {
  if (text.size() <= text_room_) {
    text_room_ -= text.size();
    next_ = std::copy(text.begin(), text.end(), next_);
    return;
  }
  Spill();
  out_.append(text);
}

void FrameWriter::Spill() {
  out_.append(small_, static_cast<std::size_t>(next_ - small_));
  next_ = small_;
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
    BigEndian(static_cast<std::uint32_t>(links_it && monitors_it ? 2 : 1));
    if (links_it) Atom("link");
    if (monitors_it) Atom("monitor");
  }
  Byte(kEmptyListTag);
  return *this;
}

FrameWriter& FrameWriter::Pid(const gen::PID& pid) {
  const std::string_view node = pid.node.Text();
  Byte(kNewPidTag);
  Byte(kSmallAtomUtf8Tag);
  Byte(static_cast<std::uint8_t>(node.size()));
  if (!node.empty()) std::memcpy(next_, node.data(), node.size());
  next_ += node.size();
  BigEndian(static_cast<std::uint32_t>(pid.id));
  BigEndian(static_cast<std::uint32_t>(pid.id >> 32));
  BigEndian(pid.creation);
  return *this;
}

FrameWriter& FrameWriter::Atom(std::string_view text) {
  if (text.size() <= kShortAtomBytes) {
    Byte(kSmallAtomUtf8Tag);
    Byte(static_cast<std::uint8_t>(text.size()));
  } else {
    Byte(kAtomUtf8Tag);
    BigEndian(static_cast<std::uint16_t>(text.size()));
  }
  Append(text);
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
    BigEndian(static_cast<std::uint32_t>(number));
    return *this;
  }
  // Bytes from the lowest on, without zeros at the end.
  Byte(kSmallBigTag);
  char* const size_at = next_;
  Byte(0);
  Byte(0);  // not negative
  std::uint8_t size = 0;
  for (; number != 0; number >>= 8, ++size) Byte(static_cast<std::uint8_t>(number));
  *size_at = static_cast<char>(size);
  return *this;
}

FrameWriter& FrameWriter::Term(std::string_view term) {
  Append(term);
  return *this;
}

FrameWriter& FrameWriter::Payload(std::string_view term) {
  Byte(kVersionByte);
  return Term(term);
}

}  // namespace ergon::dist
