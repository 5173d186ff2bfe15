#include <ergon/node/cluster/signals/frame_writer.h>

#include <fmt/core.h>

#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kShortAtomBytes = 255;

}  // namespace

gen::Error FrameTooLarge(std::size_t bytes, std::size_t most, gen::Atom peer) {
  return gen::Error(
      gen::ErrorCode::kIncorrect,
      fmt::format("{} bytes for {}: a frame has at most {} (max_frame_bytes)", bytes, peer, most));
}

bool HasToken(std::string_view frame) noexcept {
  // The kind of the frame, the version, the tuple with its size, and the tag of the operation's number: see Begin.
  constexpr std::size_t kOperationAt = kFrameLengthBytes + 5;
  if (frame.size() <= kOperationAt) return false;
  const auto& elements = FormOf(static_cast<std::uint8_t>(frame[kOperationAt])).elements;
  return std::find(elements.begin(), elements.end(), Element::kToken) != elements.end();
}

void CloseFrame(std::string& out, std::size_t begin) noexcept {
  WriteBigEndian(out.data() + begin,
                 static_cast<std::uint32_t>(out.size() - begin - kFrameLengthBytes));
}

FrameWriter::FrameWriter(std::string& out, std::size_t text_bytes) : out_(out), begin_(out.size()) {
  out.reserve(begin_ + kFrameLengthBytes + kMostSmallBytes + text_bytes);
  next_ += kFrameLengthBytes;  // written at the end
}

FrameWriter::~FrameWriter() {
  Spill();
  CloseFrame(out_, begin_);
}

void FrameWriter::Spill() {
  out_.append(small_, static_cast<std::size_t>(next_ - small_));
  next_ = small_;
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

}  // namespace ergon::dist
