// Whether a peer is still there, as far as that can be seen from what it says and what it takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ergon::dist {

// Looked at four times in the tick time, as Erlang does it. Pure: no clock.
class PeerWatch {
 public:
  static constexpr int kLooks = 4;

  // `bound`: with so many bytes that wait to be sent to the peer, it has to take some.
  PeerWatch(std::chrono::nanoseconds tick_time, std::size_t bound) noexcept
      : tick_time_(tick_time), bound_(bound) {}

  // It has said something.
  void Heard() noexcept { is_heard_ = true; }
  // It has taken so many bytes by now.
  void Took(std::uint64_t total) noexcept { taken_ = total; }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

  // A look. `queued`: bytes that wait to be sent; `is_listened_to`: what it says would be heard. The result is for people:
  // why it is to be given up; empty: it is not.
  [[nodiscard]] std::string Look(std::size_t queued, bool is_listened_to);

 private:
  const std::chrono::nanoseconds tick_time_;
  const std::size_t bound_;
  bool is_heard_ = false;
  std::uint64_t taken_ = 0;
  std::uint64_t taken_before_ = 0;
  // Looks in a row: it has said nothing; too much has waited, and it has taken less than the bound in the tick time.
  int unheard_ = 0;
  int full_ = 0;
};

}  // namespace ergon::dist
