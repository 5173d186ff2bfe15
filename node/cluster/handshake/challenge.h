// Random challenges for the handshake, their digests, and the challenges that are never answered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ergon::dist {

// Returns 32 random bits of the kernel. Throws std::system_error if the kernel has none to give. Any thread.
[[nodiscard]] std::uint32_t RandomChallenge();

// Returns the MD5 of cookie and challenge, 16 bytes, as the handshake needs it. Empty if OpenSSL is configured
// without MD5 (FIPS).
[[nodiscard]] std::string DigestOf(std::string_view cookie, std::uint32_t challenge);

// The challenge of one handshake. From Issue on it is in the list of the program until this is destroyed or moved from.
class Challenge {
 public:
  // Makes a random challenge. Throws std::system_error, as RandomChallenge does.
  Challenge() : Challenge(RandomChallenge()) {}
  Challenge(std::uint32_t value) noexcept  // NOLINT(google-explicit-constructor)
      : value_(value) {}
  ~Challenge();
  Challenge(Challenge&& other) noexcept;
  Challenge(const Challenge&) = delete;
  Challenge& operator=(const Challenge&) = delete;

  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }
  // Has to be called, once, before a peer learns the challenge. `node` is the name by which the peer knows this side,
  // not empty.
  void Issue(std::string_view node);

 private:
  std::uint32_t value_;
  std::string node_;  // that has issued it; empty: not issued
};

// Returns whether an unfinished handshake of this program has issued the challenge, on a side that is not the node
// `peer`. If `peer` hands such a challenge out as its own, it wants to hear the answer, to prove with it on the other
// connection that it knows the cookie. All nodes of the program count, and those who shake hands without being one
// (dist::Diagnose, dist::AskForName). Any thread.
[[nodiscard]] bool IsIssuedByOthers(std::uint32_t challenge, std::string_view peer);

}  // namespace ergon::dist
