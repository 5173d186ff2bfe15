// The bytes that have come and are not handled yet: the beginning of a frame, as a rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <ergon/node/cluster/signals/frame_writer.h>

namespace ergon::dist {

// It grows for a frame that does not fit, and shrinks again behind that frame: otherwise a peer could send one large
// frame and the first byte of another one, and the memory would stay for as long as the connection. One thread at a
// time.
class ReadBuffer {
 public:
  static constexpr std::size_t kReadBytes = 64 * 1024;
  static constexpr std::size_t kMostKept = 16 * kReadBytes;

  [[nodiscard]] std::string_view Bytes() const noexcept { return {bytes_.data(), had_}; }
  // Returns where the next bytes go; how many have come there is told to Added.
  [[nodiscard]] std::span<char> Room() {
    if (bytes_.size() - had_ < kReadBytes / 2) bytes_.resize(2 * bytes_.size());
    return {bytes_.data() + had_, std::min(MostToRead(), bytes_.size() - had_)};
  }
  void Added(std::size_t count) noexcept { had_ += count; }
  void RemoveFirst(std::size_t count) {
    if (count == 0) return;
    had_ -= count;
    if (had_ <= kReadBytes && bytes_.size() > kMostKept) {
      std::string small(2 * kReadBytes, '\0');
      std::memcpy(small.data(), bytes_.data() + count, had_);
      bytes_ = std::move(small);
    } else {
      std::memmove(bytes_.data(), bytes_.data() + count, had_);
    }
  }
  // Returns how many bytes of memory it takes.
  [[nodiscard]] std::size_t Capacity() const noexcept { return bytes_.size(); }

 private:
  // What has been read cannot wait in the socket: after a frame that is large, no more is read at a time than before.
  [[nodiscard]] std::size_t MostToRead() const {
    if (had_ < kFrameLengthBytes) return kReadBytes;
    const std::size_t frame = kFrameLengthBytes + FrameLengthAt(Bytes());
    return frame < had_ ? kReadBytes : std::max(kReadBytes, frame - had_);
  }

  // Not cleared for each frame: that would take longer than a small read.
  std::string bytes_ = std::string(kReadBytes, '\0');
  std::size_t had_ = 0;
};

}  // namespace ergon::dist
