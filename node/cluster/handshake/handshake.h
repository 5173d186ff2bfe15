// The handshake of the Erlang distribution protocol, version 6, for both sides. Pure: packets in,
// packets out; no socket, no clock. The caller brings random challenges and reads and writes
// packets, whose length stands before them in 2 bytes over TCP and in 4 over TLS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/gen/result.h>
#include <ergon/node/cluster/handshake/challenge.h>
#include <ergon/node/cluster/handshake/flags.h>

namespace ergon::dist {

// Longer packets are none of a handshake's: the caller ends the connection before it reads them.
inline constexpr std::size_t kMostHandshakeBytes = 1024;

struct HandshakeSelf {
  std::string
      name;  // "cpp@127.0.0.1"; of an initiator that has none yet "127.0.0.1", and the peer gives it one
  std::string cookie;
  std::uint32_t creation = 0;
  std::uint64_t flags = kOwnFlags;
};

// Whom a successful handshake has found.
struct HandshakePeer {
  std::string name;
  std::uint32_t creation = 0;
  std::uint64_t flags = 0;      // those of both
  bool replaces = false;        // as Handshake::replaces
  std::string given_name = {};  // that the peer has given to this node, which has asked for one
};

// What an acceptor answers to a name (`kOkSimultaneous`: it tries to connect as well, and gives
// way; `kNok`: it does not give way; `kAlive`: it has a connection with that name, which the peer
// may replace). Who gives way: the node whose name is less, compared as bytes.
enum class HandshakeAnswer : std::uint8_t { kOk, kOkSimultaneous, kNok, kNotAllowed, kAlive };

class Handshake {
 public:
  // The side that has opened the connection, to the node `peer`. `is_wanted` is asked when the peer
  // has a connection with our name: true: that one is dead, so this one is to replace it; false: it
  // is not, which ends this one. Empty: true.
  static Handshake Initiator(HandshakeSelf self, std::string peer, Challenge challenge,
                             std::function<bool()> is_wanted = {});
  // The other side. `answer` is asked once, with the peer's name, and may look at what else is
  // connected. It is asked before the peer has proved that it has the cookie. A peer without a name
  // of its own gets one, which is made of the challenge; `answer` is asked with that. `is_wanted` is
  // asked once the peer has proved itself, before it is told so: false ends this with kTaken, because
  // another connection with that peer has come about meanwhile. Empty: true.
  static Handshake Acceptor(HandshakeSelf self, Challenge challenge,
                            std::function<HandshakeAnswer(std::string_view peer)> answer,
                            std::function<bool(const HandshakePeer& peer)> is_wanted = {});

  // The packet to begin with; empty: the other side begins.
  [[nodiscard]] std::string Begin();
  // Takes the next packet of the peer and appends what is to be sent (maybe two packets, maybe
  // nothing). An error ends the connection; its text says which side has to change what:
  // kNotAllowed (the cookie; a challenge of this node's that the peer hands back; or the peer does not
  // want us), kUnsupported (a flag that is missing,
  // by name; a node that is too old), kTaken (another connection of these two is kept), kIncorrect
  // (a name; or it is no handshake). What `to_send` holds is to be written even then. After an
  // error or success there is nothing more to take: kNotAllowed.
  gen::Result<void> Take(std::string_view packet, std::vector<std::string>& to_send);
  // The peer has closed the connection instead of sending the next packet: what this means now.
  // Erlang says nothing when it refuses a cookie, a name or flags.
  [[nodiscard]] gen::Error ClosedByPeer() const;

  // Set when it has succeeded; what is to be sent has to be written first.
  [[nodiscard]] const std::optional<HandshakePeer>& peer() const noexcept { return peer_; }
  // Initiator: the peer has said ok_simultaneous, so its own attempt has ended. Acceptor that has
  // answered kAlive: the peer replaces the old connection, which is to be closed once peer() is
  // set, not before.
  [[nodiscard]] bool replaces() const noexcept { return found_.replaces; }

 private:
  // What comes next.
  enum class State : std::uint8_t { kStatus, kChallenge, kAck, kName, kAliveAnswer, kReply, kOver };
  using Packets = std::vector<std::string>;

  Handshake(HandshakeSelf self, State state, Challenge challenge)
      : self_(std::move(self)), state_(state), challenge_(std::move(challenge)) {}

  // Of the initiator.
  gen::Result<void> TakeStatus(std::string_view status, Packets& to_send);
  gen::Result<void> TakeGivenName(std::string_view name);
  gen::Result<void> TakeChallenge(std::string_view packet, Packets& to_send);
  gen::Result<void> TakeAck(std::string_view packet);
  // Of the acceptor.
  gen::Result<void> TakeName(std::string_view packet, Packets& to_send);
  gen::Result<void> CheckName(std::string_view name, std::uint64_t flags);
  gen::Result<void> GiveName(std::string_view host);
  gen::Result<void> Answer(Packets& to_send);
  gen::Result<void> TakeAliveAnswer(std::string_view status, Packets& to_send);
  gen::Result<void> TakeReply(std::string_view packet, Packets& to_send);
  [[nodiscard]] std::string ChallengePacket() const;

  [[nodiscard]] gen::Result<std::string> Digest(std::uint32_t challenge) const;
  // What proves to the peer that this node knows the cookie. Not for a challenge of this node's own.
  [[nodiscard]] gen::Result<std::string> AnswerTo(std::uint32_t challenge) const;
  // The peer's digest of our challenge.
  gen::Result<void> CheckDigest(std::string_view digest) const;
  gen::Result<void> CheckFlags(std::uint64_t flags) const;
  [[nodiscard]] gen::Error HasConnection() const;
  [[nodiscard]] bool WantsName() const { return self_.name.find('@') == std::string::npos; }
  void Succeed();

  HandshakeSelf self_;
  State state_;
  Challenge challenge_;
  std::function<bool()> is_wanted_;
  std::function<HandshakeAnswer(std::string_view)> answer_;
  std::function<bool(const HandshakePeer&)> is_proved_wanted_;
  HandshakePeer found_;  // so far, and not proved
  bool is_named_by_us_ = false;
  std::optional<HandshakePeer> peer_;
};

// MD5 of cookie and challenge, 16 bytes, as the handshake wants it. Empty: OpenSSL is configured to
// have no MD5 (FIPS).
[[nodiscard]] std::string DigestOf(std::string_view cookie, std::uint32_t challenge);

}  // namespace ergon::dist
