// Random challenges for the handshake, their digests, and the challenges that are never answered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace ergon::dist {

// Returns 32 random bits of the kernel. Throws std::system_error if the kernel has none to give. Any thread.
[[nodiscard]] std::uint32_t RandomChallenge();

// Returns the MD5 of cookie and challenge, 16 bytes, as the handshake needs it. Empty if OpenSSL is configured
// without MD5 (FIPS).
[[nodiscard]] std::string DigestOf(std::string_view cookie, std::uint32_t challenge);

// The challenges that unfinished handshakes of one node have issued. A peer that sends one of them back wants the
// node's own answer to it, to prove with this answer on the other connection that it knows the cookie. One thread;
// lives longer than the handshakes.
class Challenges {
 public:
  Challenges() = default;
  Challenges(const Challenges&) = delete;
  Challenges& operator=(const Challenges&) = delete;

 private:
  friend class Challenge;
  std::unordered_set<std::uint32_t> issued_;
};

// The challenge of one handshake, which counts as issued until this is destroyed or moved from.
class Challenge {
 public:
  // Makes a random challenge. Throws std::system_error, as RandomChallenge does.
  explicit Challenge(Challenges& all);
  // Makes the challenge of a handshake that stands alone.
  Challenge(std::uint32_t value) noexcept  // NOLINT(google-explicit-constructor)
      : value_(value) {}
  ~Challenge();
  Challenge(Challenge&& other) noexcept;
  Challenge(const Challenge&) = delete;
  Challenge& operator=(const Challenge&) = delete;

  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }
  // Returns whether this node has issued that challenge and still waits for the answer.
  [[nodiscard]] bool IsIssued(std::uint32_t challenge) const {
    return challenge == value_ || (all_ != nullptr && all_->issued_.contains(challenge));
  }

 private:
  Challenges* all_ = nullptr;
  std::uint32_t value_;
};

}  // namespace ergon::dist
