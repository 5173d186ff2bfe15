// What a process heeds in its turns besides its messages, as bits: nearly always nothing, which one test tells.
#pragma once

#include <cstdint>

namespace ergon::node {

// How it takes its next message.
class Taking {
 public:
  // Returns true if it takes messages from all lanes of its mailbox, and from nowhere else.
  [[nodiscard]] bool IsUsual() const noexcept { return bits_ == 0; }
  [[nodiscard]] bool IsEnding() const noexcept { return (bits_ & kIsEnding) != 0; }
  [[nodiscard]] bool IsMainHeld() const noexcept { return (bits_ & kMainIsHeld) != 0; }
  [[nodiscard]] bool HasQueue() const noexcept { return (bits_ & kHasQueue) != 0; }

  void End() noexcept { Set(kIsEnding, true); }
  void HoldMain(bool hold) noexcept { Set(kMainIsHeld, hold); }
  void UseQueue(bool use) noexcept { Set(kHasQueue, use); }

 private:
  static constexpr std::uint8_t kIsEnding = 1;    // it takes no more; the reason is in transition_
  static constexpr std::uint8_t kMainIsHeld = 2;  // by the behaviour, or the process is suspended
  static constexpr std::uint8_t kHasQueue = 4;    // Main is kept in the queue lane

  void Set(std::uint8_t bit, bool value) noexcept {
    bits_ = static_cast<std::uint8_t>(value ? bits_ | bit : bits_ & ~bit);
  }

  std::uint8_t bits_ = 0;
};

// What it does before its next handler, after its turn, or both.
inline constexpr std::uint8_t kTimeIsDue = 1;     // it has waited since the time was noted
inline constexpr std::uint8_t kRoomIsWanted = 2;  // senders wait; both
inline constexpr std::uint8_t kTraceEnds = 4;     // of what was handled last
inline constexpr std::uint8_t kMeasures = 8;      // always, with NodeOptions::measure_latency; both
inline constexpr std::uint8_t kPaceIsNoted = 16;  // always, of a pool's worker; after the turn
inline constexpr std::uint8_t kBeforeHandler = kTimeIsDue | kRoomIsWanted | kTraceEnds | kMeasures;
inline constexpr std::uint8_t kAfterTurn = kRoomIsWanted | kMeasures | kPaceIsNoted;

}  // namespace ergon::node
