// The frames of one connection, one after the other.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include <ergon/gen/result.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/signal_codec.h>

namespace ergon::dist {

// Parses frames as ParseFrame does. A stream of messages from one process to another has the same control tuple each
// time, which is compared with the last one, and not read again.
class FrameParser {
 public:
  // `peers` outlives this.
  FrameParser(const Peers& peers, std::size_t max_depth) : peers_(peers), max_depth_(max_depth) {}

  // Parses a frame. If there is no error, signal() is the signal of the frame.
  [[nodiscard]] gen::Result<void> Parse(std::string_view frame) {
    if (!TakeSimilar(frame)) return ParseOther(frame);
    return {};
  }
  // Takes the first frame of `bytes`, with its length in front, if it is complete and not longer than `most`, and is a
  // message with the same control tuple as the last one, whose payload is one binary. Returns the payload; null: it is
  // another frame.
  [[nodiscard]] std::string_view TakeAlike(std::string_view bytes, std::size_t most) const noexcept;

  // Returns the signal of the last frame, which had no error. Valid until the next Parse, and as long as that frame.
  [[nodiscard]] const Signal& signal() const noexcept { return signal_; }

  // For tests.
  [[nodiscard]] std::size_t KeptHeadBytes() const noexcept { return head_.size(); }

 private:
  // Takes a frame with the same head as the last one, whose payload is one binary. Returns false for others.
  [[nodiscard]] bool TakeSimilar(std::string_view frame) noexcept {
    const std::size_t head = head_.size();
    if (head == 0 || frame.size() <= head || std::memcmp(frame.data(), head_.data(), head) != 0) {
      return false;
    }
    const std::string_view rest(frame.data() + head, frame.size() - head);
    if (!IsOneBinary(rest)) return false;
    signal_.payload = rest.substr(1);
    return true;
  }
  gen::Result<void> ParseOther(std::string_view frame);
  void KeepHead(std::string_view frame);

  const Peers& peers_;
  const std::size_t max_depth_;
  Signal signal_;
  // The bytes in front of the payload of signal_. Empty if signal_ is no message to a process, or if these bytes are
  // not kept.
  std::string head_;
};

inline std::string_view FrameParser::TakeAlike(std::string_view bytes,
                                               std::size_t most) const noexcept {
  const std::size_t head = kFrameLengthBytes + head_.size();
  if (head_.empty() || bytes.size() <= head) return {};
  const std::size_t frame = FrameLengthAt(bytes);
  if (frame > most || frame > bytes.size() - kFrameLengthBytes || frame <= head_.size() ||
      std::memcmp(bytes.data() + kFrameLengthBytes, head_.data(), head_.size()) != 0) {
    return {};
  }
  const std::string_view rest(bytes.data() + head, kFrameLengthBytes + frame - head);
  return IsOneBinary(rest) ? rest.substr(1) : std::string_view();
}

}  // namespace ergon::dist
