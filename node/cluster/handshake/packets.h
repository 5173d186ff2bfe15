// The packets of a handshake, as values and as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ergon::dist {

inline constexpr std::size_t kDigestBytes = 16;

// Names and digests are views of the bytes that were read.

// The initiator says its name.
struct NamePacket {
  std::uint64_t flags = 0;
  std::uint32_t creation = 0;
  std::string_view name;
};
// The acceptor says its name, too, and gives its challenge.
struct ChallengePacket {
  std::uint64_t flags = 0;
  std::uint32_t challenge = 0;
  std::uint32_t creation = 0;
  std::string_view name;
};
// The initiator answers the challenge with a digest, and gives its own challenge.
struct ReplyPacket {
  std::uint32_t challenge = 0;
  std::string_view digest;
};

[[nodiscard]] std::string BytesOf(const NamePacket& packet);
[[nodiscard]] std::string BytesOf(const ChallengePacket& packet);
[[nodiscard]] std::string BytesOf(const ReplyPacket& packet);
// Returns the acknowledgement with which the acceptor answers the other challenge.
[[nodiscard]] std::string AckBytes(std::string_view digest);
// Returns the status that gives a name, and its creation, to a node that has asked for one.
[[nodiscard]] std::string NamedStatus(std::string_view name, std::uint32_t creation);

// These return nothing if the bytes are another packet. Bytes behind a name are for later versions.
[[nodiscard]] std::optional<NamePacket> ReadNamePacket(std::string_view bytes);
[[nodiscard]] std::optional<ChallengePacket> ReadChallengePacket(std::string_view bytes);
[[nodiscard]] std::optional<ReplyPacket> ReadReplyPacket(std::string_view bytes);
// Returns the digest.
[[nodiscard]] std::optional<std::string_view> ReadAck(std::string_view bytes);
// Returns the word, without the tag.
[[nodiscard]] std::optional<std::string_view> ReadStatus(std::string_view bytes);
// Reads the name that follows `named:` in a status.
[[nodiscard]] std::optional<std::string_view> ReadGivenName(std::string_view bytes);
// Returns whether a name or a challenge is of version 5 of the protocol.
[[nodiscard]] bool IsOfVersion5(std::string_view bytes);

}  // namespace ergon::dist
