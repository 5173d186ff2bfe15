// Finds out whether a peer is still there, from the bytes that it sends and takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ergon::dist {

// Looks four times in the tick time, as Erlang does. Pure: no clock.
class PeerWatch {
 public:
  static constexpr int kLooks = 4;
  // Bytes in the tick time. A peer that takes more is slow, and not gone.
  static constexpr std::size_t kNextToNothing = 64 * 1024;

  // `bound`: when this many bytes wait to be sent to the peer, it has to take kNextToNothing or `bound` in the tick
  // time, whichever is less.
  PeerWatch(std::chrono::nanoseconds tick_time, std::size_t bound) noexcept
      : tick_time_(tick_time), bound_(bound) {}

  // Notes that the peer has sent something.
  void Heard() noexcept { is_heard_ = true; }
  // Notes how many bytes the peer has taken by now.
  void Took(std::uint64_t total) noexcept { taken_ = total; }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

  // Looks once. `queued`: bytes that wait to be sent. `is_listened_to`: this node reads what the peer sends. Returns,
  // for people, why the peer has to be given up; empty if it has not.
  [[nodiscard]] std::string Look(std::size_t queued, bool is_listened_to);

 private:
  const std::chrono::nanoseconds tick_time_;
  const std::size_t bound_;
  bool is_heard_ = false;
  std::uint64_t taken_ = 0;
  std::uint64_t taken_before_ = 0;
  // Looks in a row at which the peer had sent nothing, and at which too much waited and the peer had taken next to
  // nothing.
  int unheard_ = 0;
  int full_ = 0;
};

}  // namespace ergon::dist
