#include <ergon/node/cluster/handshake/handshake.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <openssl/crypto.h>

#include <ergon/gen/atom.h>
#include <ergon/node/cluster/handshake/handshake_errors.h>
#include <ergon/node/cluster/handshake/node_names.h>
#include <ergon/node/cluster/handshake/packets.h>
#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::dist {
namespace {

using gen::ErrorCode;

constexpr std::size_t kGivenNameLetters = 12;
constexpr std::uint32_t kLeastCreation = 4;  // lower ones are of old nodes

// Letters and digits that stand for `bytes`, as OTP names nodes.
std::string Letters(std::string_view bytes) {
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string letters;
  for (const char byte : bytes) {
    letters += kLetters[static_cast<unsigned char>(byte) % kLetters.size()];
  }
  return letters;
}

}  // namespace

Handshake Handshake::Initiator(HandshakeSelf self, std::string peer, Challenge challenge,
                               std::function<bool()> is_wanted) {
  Handshake handshake(std::move(self), State::kStatus, std::move(challenge));
  handshake.found_.name = std::move(peer);
  handshake.is_wanted_ = std::move(is_wanted);
  return handshake;
}

Handshake Handshake::Acceptor(HandshakeSelf self, Challenge challenge,
                              std::function<HandshakeAnswer(std::string_view peer)> answer,
                              std::function<bool(const HandshakePeer& peer)> is_wanted) {
  Handshake handshake(std::move(self), State::kName, std::move(challenge));
  handshake.answer_ = std::move(answer);
  handshake.is_proved_wanted_ = std::move(is_wanted);
  return handshake;
}

std::string Handshake::Begin() {
  if (state_ != State::kStatus) return {};
  return BytesOf(NamePacket{.flags = WantsName() ? self_.flags | kFlagNameMe : self_.flags,
                            .creation = self_.creation,
                            .name = self_.name});
}

gen::Result<void> Handshake::TakePacket(std::string_view packet,
                                        std::vector<std::string>& to_send) {
  // Each step that succeeds says what comes next.
  switch (std::exchange(state_, State::kOver)) {
    case State::kStatus:
      if (const auto status = ReadStatus(packet)) return TakeStatus(*status, to_send);
      return NoPacket("a status", packet);
    case State::kChallenge:
      return TakeChallenge(packet, to_send);
    case State::kAck:
      return TakeAck(packet);
    case State::kName:
      return TakeName(packet, to_send);
    case State::kAliveAnswer:
      if (const auto status = ReadStatus(packet)) return TakeAliveAnswer(*status, to_send);
      return NoPacket("a status", packet);
    case State::kReply:
      return TakeReply(packet, to_send);
    case State::kOver:
      break;
  }
  return gen::Error(ErrorCode::kNotAllowed, "handshake: it is over");
}

gen::Result<void> Handshake::TakeStatus(std::string_view status, Packets& to_send) {
  constexpr std::string_view kNamed = "named:";
  // This says more than the peer's not_allowed.
  if (!WantsName()) {
    if (auto checked = CheckPair(self_.name, found_.name); !checked) return checked;
  } else if (status.starts_with(kNamed)) {
    return TakeGivenName(status.substr(kNamed.size()));
  } else if (status.starts_with("ok") || status == "alive") {
    return gen::Error(ErrorCode::kUnsupported,
                      fmt::format("{} gives no names: update it to OTP 24 or later", found_.name));
  }
  if (status == "alive") {
    const bool is_wanted = !is_wanted_ || is_wanted_();
    to_send.emplace_back(is_wanted ? "strue" : "sfalse");
    if (!is_wanted) return HasConnection();
  } else if (status == "ok_simultaneous") {
    found_.replaces = true;
  } else if (status == "nok") {
    return gen::Error(ErrorCode::kTaken,
                      fmt::format("{} is connecting to this node as well, and that attempt goes on",
                                  found_.name));
  } else if (status == "not_allowed") {
    return gen::Error(
        ErrorCode::kNotAllowed,
        fmt::format(
            "{} does not allow connections from {}: see net_kernel:allow/1 there, and its log",
            found_.name, self_.name));
  } else if (status.starts_with(kNamed)) {
    return gen::Error(
        ErrorCode::kIncorrect,
        fmt::format(
            "handshake: {} gives a name to this node, which has one and has not asked for another",
            found_.name));
  } else if (status != "ok") {
    return NoStatus("a known status", status);
  }
  state_ = State::kChallenge;
  return {};
}

// The name, and the creation that goes with it, for which this node takes its own.
gen::Result<void> Handshake::TakeGivenName(std::string_view name) {
  const auto given = ReadGivenName(name);
  if (!given) return NoStatus("a name that is given", name);
  if (auto checked = CheckPeerName(*given); !checked) return checked;
  if (!given->ends_with('@' + self_.name)) {
    return gen::Error(ErrorCode::kIncorrect,
                      fmt::format("handshake: {} has given the name {} to a node on the host {}",
                                  found_.name, Quoted(*given), Quoted(self_.name)));
  }
  if (auto checked = CheckPair(*given, found_.name); !checked) return checked;
  found_.given_name = self_.name = *given;
  state_ = State::kChallenge;
  return {};
}

gen::Result<void> Handshake::TakeChallenge(std::string_view packet, Packets& to_send) {
  if (IsOfVersion5(packet)) return OldPeer();
  const auto challenge = ReadChallengePacket(packet);
  if (!challenge) return NoPacket("a challenge", packet);
  const std::string_view name = challenge->name;
  if (name != found_.name) {
    std::string text = fmt::format("{} has answered instead of {}", Quoted(name), found_.name);
    if (CheckPeerName(name) && IsLongName(name) != IsLongName(found_.name)) {
      text +=
          fmt::format(": {} has a short name and {} a long one; call it by the name that it has",
                      Quoted(IsLongName(name) ? found_.name : name),
                      Quoted(IsLongName(name) ? name : found_.name));
    }
    return gen::Error(ErrorCode::kIncorrect, std::move(text));
  }
  if (auto checked = CheckFlags(challenge->flags); !checked) return checked;
  found_.flags = self_.flags & ExpandFlags(challenge->flags);
  found_.creation = challenge->creation;
  if (found_.creation == 0) return NoCreation(found_.name);
  auto digest = AnswerTo(challenge->challenge);
  if (!digest) return std::move(digest.error());
  challenge_.Issue(self_.name);
  to_send.push_back(BytesOf(ReplyPacket{.challenge = challenge_.value(), .digest = *digest}));
  state_ = State::kAck;
  return {};
}

gen::Result<void> Handshake::TakeAck(std::string_view packet) {
  const auto digest = ReadAck(packet);
  if (!digest) return NoPacket("an acknowledgement", packet);
  if (auto checked = CheckDigest(*digest); !checked) return checked;
  Succeed();
  return {};
}

gen::Result<void> Handshake::TakeName(std::string_view packet, Packets& to_send) {
  const auto refuse = [&](gen::Error error) {
    to_send.emplace_back("snot_allowed");
    return error;
  };
  if (IsOfVersion5(packet)) return refuse(OldPeer());
  const auto name = ReadNamePacket(packet);
  if (!name) return NoPacket("a name", packet);
  found_.creation = name->creation;
  if (auto checked = CheckName(name->name, name->flags); !checked) {
    return refuse(std::move(checked.error()));
  }
  if (auto checked = CheckFlags(name->flags); !checked) return refuse(std::move(checked.error()));
  found_.flags = self_.flags & ExpandFlags(name->flags);
  if (is_named_by_us_) found_.flags &= ~kFlagPublished;
  return Answer(to_send);
}

gen::Result<void> Handshake::CheckName(std::string_view name, std::uint64_t flags) {
  if ((flags & kFlagNameMe) != 0) {
    if (auto checked = GiveName(name); !checked) return checked;
  } else {
    if (auto checked = CheckPeerName(name); !checked) return checked;
    found_.name = name;
    if (found_.creation == 0) return NoCreation(found_.name);
  }
  return CheckPair(self_.name, found_.name);
}

// The caller's challenge is random, so that the name is most likely nobody's.
gen::Result<void> Handshake::GiveName(std::string_view host) {
  if (auto checked = CheckHost(host); !checked) return checked;
  const std::string random =
      DigestOf(fmt::format("{} {} {} ", self_.name, self_.creation, host), challenge_.value());
  if (random.size() != kDigestBytes) return NoMd5();
  found_.name = fmt::format("{}@{}", Letters(random.substr(0, kGivenNameLetters)), host);
  found_.creation =
      std::max(kLeastCreation, ReadBigEndian<std::uint32_t>(random.substr(kGivenNameLetters)));
  is_named_by_us_ = true;
  return CheckPeerName(found_.name);
}

gen::Result<void> Handshake::Answer(Packets& to_send) {
  HandshakeAnswer answer = answer_(found_.name);
  // A new name is nobody's, so it cannot be connected: it is not new after all.
  if (is_named_by_us_ && answer != HandshakeAnswer::kOk) answer = HandshakeAnswer::kNotAllowed;
  switch (answer) {
    case HandshakeAnswer::kOk:
      to_send.push_back(is_named_by_us_ ? NamedStatus(found_.name, found_.creation) : "sok");
      break;
    case HandshakeAnswer::kOkSimultaneous:
      to_send.emplace_back("sok_simultaneous");
      break;
    case HandshakeAnswer::kNok:
      to_send.emplace_back("snok");
      return gen::Error(
          ErrorCode::kTaken,
          fmt::format("{} connects while this node connects to it, and this node's attempt goes on",
                      found_.name));
    case HandshakeAnswer::kNotAllowed:
      to_send.emplace_back("snot_allowed");
      return gen::Error(ErrorCode::kNotAllowed,
                        fmt::format("connections from {} are not allowed", found_.name));
    case HandshakeAnswer::kAlive:
      to_send.emplace_back("salive");
      state_ = State::kAliveAnswer;
      return {};
  }
  to_send.push_back(IssueChallenge());
  state_ = State::kReply;
  return {};
}

gen::Result<void> Handshake::TakeAliveAnswer(std::string_view status, Packets& to_send) {
  if (status == "false") {
    return gen::Error(ErrorCode::kTaken,
                      fmt::format("{} keeps the connection that it has", found_.name));
  }
  if (status != "true") return NoStatus("true or false", status);
  found_.replaces = true;
  to_send.push_back(IssueChallenge());
  state_ = State::kReply;
  return {};
}

gen::Result<void> Handshake::TakeReply(std::string_view packet, Packets& to_send) {
  const auto reply = ReadReplyPacket(packet);
  if (!reply) return NoPacket("the answer to the challenge", packet);
  if (auto checked = CheckDigest(reply->digest); !checked) return checked;
  auto digest = AnswerTo(reply->challenge);
  if (!digest) return std::move(digest.error());
  if (is_proved_wanted_ && !is_proved_wanted_(found_)) return HasConnection();
  to_send.push_back(AckBytes(*digest));
  Succeed();
  return {};
}

gen::Error Handshake::HasConnection() const {
  return gen::Error(
      ErrorCode::kTaken,
      fmt::format("{} has a connection with this node already, which is kept", found_.name));
}

std::string Handshake::IssueChallenge() {
  challenge_.Issue(self_.name);
  // A peer that gets a name wants to see its request in the answer, and is hidden.
  const std::uint64_t flags =
      is_named_by_us_ ? (self_.flags & ~kFlagPublished) | kFlagNameMe : self_.flags;
  return BytesOf(ChallengePacket{.flags = flags,
                                 .challenge = challenge_.value(),
                                 .creation = self_.creation,
                                 .name = self_.name});
}

gen::Result<std::string> Handshake::Digest(std::uint32_t challenge) const {
  std::string digest = DigestOf(self_.cookie, challenge);
  if (digest.size() == kDigestBytes) return digest;
  return NoMd5();
}

gen::Result<std::string> Handshake::AnswerTo(std::uint32_t challenge) const {
  if (!IsIssuedByOthers(challenge, found_.name)) return Digest(challenge);
  return gen::Error(
      ErrorCode::kNotAllowed,
      fmt::format("handshake: {} hands a challenge of this program back: it does not know the "
                  "cookie, and wants to hear the answer",
                  found_.name));
}

gen::Result<void> Handshake::CheckDigest(std::string_view digest) const {
  const auto own = Digest(challenge_.value());
  if (!own) return own.error();
  // In the same time wherever they differ.
  if (CRYPTO_memcmp(own->data(), digest.data(), kDigestBytes) == 0) return {};
  return OtherCookie(found_.name);
}

gen::Result<void> Handshake::CheckFlags(std::uint64_t flags) const {
  const std::string missing = MissingFlags(ExpandFlags(flags));
  if (missing.empty()) return {};
  return gen::Error(
      ErrorCode::kUnsupported,
      fmt::format("{} does not understand {}: update it to OTP 24 or later", found_.name, missing));
}

void Handshake::Succeed() { peer_ = found_; }

gen::Error Handshake::ClosedByPeer() const {
  const auto closed = [](ErrorCode code, std::string text) {
    return gen::Error(code, "handshake: " + std::move(text));
  };
  switch (state_) {
    case State::kStatus:
      return closed(ErrorCode::kNoConnection,
                    fmt::format("{} has closed the connection when it heard the name {}: it is too "
                                "old, stopping, or no Erlang node",
                                found_.name, self_.name));
    case State::kChallenge:
      return closed(ErrorCode::kNoConnection,
                    fmt::format("{} has closed the connection before its challenge: it may have "
                                "connected to this node meanwhile",
                                found_.name));
    case State::kAck:
      return gen::Error(ErrorCode::kNotAllowed,
                        std::string(OtherCookie(found_.name).detail()) +
                            ". Or it has just connected to this node; see its log");
    case State::kName:
      return closed(ErrorCode::kNoConnection,
                    "the other node has closed the connection before it has said its name");
    case State::kAliveAnswer:
      return closed(
          ErrorCode::kNoConnection,
          fmt::format("{} has closed the connection: it keeps the one that it has", found_.name));
    case State::kReply:
      return closed(ErrorCode::kNoConnection,
                    fmt::format("{} has closed the connection when it heard the name and flags of "
                                "{}: that node has asked for this node under another name, or "
                                "requires flags that this node lacks; see its log",
                                found_.name, self_.name));
    case State::kOver:
      break;
  }
  return closed(ErrorCode::kNoConnection, "the connection has ended");
}

}  // namespace ergon::dist
