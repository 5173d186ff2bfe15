#include <ergon/node/cluster/handshake/packets.h>

#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::dist {
namespace {

// What packets begin with.
constexpr char kNameTag[] = "N";  // a challenge, too
constexpr char kOldNameTag = 'n';
constexpr char kStatusTag = 's';
constexpr char kReplyTag[] = "r";
constexpr char kAckTag[] = "a";

// The offsets of the fields in packets that begin with kNameTag.
constexpr std::size_t kFlagsAt = 1;
constexpr std::size_t kCreationAt = 9;
constexpr std::size_t kChallengeAt = 9;
constexpr std::size_t kChallengeCreationAt = 13;

// The name in `packet` whose length is at `position`.
std::optional<std::string_view> NameAt(std::string_view packet, std::size_t position) {
  if (packet.size() < position + 2) return std::nullopt;
  const std::size_t size = ReadBigEndian<std::uint16_t>(packet.substr(position));
  if (packet.size() - position - 2 < size) return std::nullopt;
  return packet.substr(position + 2, size);
}

void AppendNodeName(std::string& packet, std::string_view name) {
  AppendBigEndian(packet, static_cast<std::uint16_t>(name.size()));
  packet += name;
}

}  // namespace

std::string BytesOf(const NamePacket& packet) {
  std::string bytes = kNameTag;
  AppendBigEndian(bytes, packet.flags);
  AppendBigEndian(bytes, packet.creation);
  AppendNodeName(bytes, packet.name);
  return bytes;
}

std::string BytesOf(const ChallengePacket& packet) {
  std::string bytes = kNameTag;
  AppendBigEndian(bytes, packet.flags);
  AppendBigEndian(bytes, packet.challenge);
  AppendBigEndian(bytes, packet.creation);
  AppendNodeName(bytes, packet.name);
  return bytes;
}

std::string BytesOf(const ReplyPacket& packet) {
  std::string bytes = kReplyTag;
  AppendBigEndian(bytes, packet.challenge);
  bytes += packet.digest;
  return bytes;
}

std::string AckBytes(std::string_view digest) { return kAckTag + std::string(digest); }

std::string NamedStatus(std::string_view name, std::uint32_t creation) {
  std::string bytes = "snamed:";
  AppendNodeName(bytes, name);
  AppendBigEndian(bytes, creation);
  return bytes;
}

std::optional<NamePacket> ReadNamePacket(std::string_view bytes) {
  const auto name = NameAt(bytes, kCreationAt + 4);
  if (!bytes.starts_with(kNameTag) || !name) return std::nullopt;
  return NamePacket{.flags = ReadBigEndian<std::uint64_t>(bytes.substr(kFlagsAt)),
                    .creation = ReadBigEndian<std::uint32_t>(bytes.substr(kCreationAt)),
                    .name = *name};
}

std::optional<ChallengePacket> ReadChallengePacket(std::string_view bytes) {
  const auto name = NameAt(bytes, kChallengeCreationAt + 4);
  if (!bytes.starts_with(kNameTag) || !name) return std::nullopt;
  return ChallengePacket{
      .flags = ReadBigEndian<std::uint64_t>(bytes.substr(kFlagsAt)),
      .challenge = ReadBigEndian<std::uint32_t>(bytes.substr(kChallengeAt)),
      .creation = ReadBigEndian<std::uint32_t>(bytes.substr(kChallengeCreationAt)),
      .name = *name};
}

std::optional<ReplyPacket> ReadReplyPacket(std::string_view bytes) {
  if (!bytes.starts_with(kReplyTag) || bytes.size() != 5 + kDigestBytes) return std::nullopt;
  return ReplyPacket{.challenge = ReadBigEndian<std::uint32_t>(bytes.substr(1)),
                     .digest = bytes.substr(5)};
}

std::optional<std::string_view> ReadAck(std::string_view bytes) {
  if (!bytes.starts_with(kAckTag) || bytes.size() != 1 + kDigestBytes) return std::nullopt;
  return bytes.substr(1);
}

std::optional<std::string_view> ReadStatus(std::string_view bytes) {
  if (!bytes.starts_with(kStatusTag)) return std::nullopt;
  return bytes.substr(1);
}

std::optional<std::string_view> ReadGivenName(std::string_view bytes) { return NameAt(bytes, 0); }

bool IsOfVersion5(std::string_view bytes) { return bytes.starts_with(kOldNameTag); }

}  // namespace ergon::dist
