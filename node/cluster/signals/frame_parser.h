// The frames of one connection, one after the other.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include <ergon/gen/result.h>
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

}  // namespace ergon::dist
