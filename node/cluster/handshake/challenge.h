// What nobody can guess, for the handshake, and what of it is never answered.
#pragma once

#include <cstdint>
#include <unordered_set>

namespace ergon::dist {

// 32 random bits of the kernel's. Throws std::system_error when it has none to give. Any thread.
[[nodiscard]] std::uint32_t RandomChallenge();

// The challenges that unfinished handshakes of one node have issued. A peer that hands one of them back wants to hear the
// node's own answer to it, with which it would prove on the other connection what it does not know. One thread; lives
// longer than the handshakes.
class Challenges {
 public:
  Challenges() = default;
  Challenges(const Challenges&) = delete;
  Challenges& operator=(const Challenges&) = delete;

 private:
  friend class Challenge;
  std::unordered_set<std::uint32_t> issued_;
};

// That of one handshake, issued until this is destroyed or moved from.
class Challenge {
 public:
  // Random. Throws std::system_error, as RandomChallenge.
  explicit Challenge(Challenges& all);
  // Of a handshake that stands alone.
  Challenge(std::uint32_t value) noexcept  // NOLINT(google-explicit-constructor)
      : value_(value) {}
  ~Challenge();
  Challenge(Challenge&& other) noexcept;
  Challenge(const Challenge&) = delete;
  Challenge& operator=(const Challenge&) = delete;

  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }
  // Whether this node has issued that one, and still waits for the answer.
  [[nodiscard]] bool IsIssued(std::uint32_t challenge) const {
    return challenge == value_ || (all_ != nullptr && all_->issued_.contains(challenge));
  }

 private:
  Challenges* all_ = nullptr;
  std::uint32_t value_;
};

}  // namespace ergon::dist
