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

// Longer packets do not belong to a handshake: the caller ends the connection before it reads them.
inline constexpr std::size_t kMostHandshakeBytes = 1024;

struct HandshakeSelf {
  std::string
      name;  // "cpp@127.0.0.1"; of an initiator that has none yet "127.0.0.1", and the peer gives it one
  std::string cookie;
  std::uint32_t creation = 0;
  std::uint64_t flags = kOwnFlags;
};

// The peer that a successful handshake has found.
struct HandshakePeer {
  std::string name;
  std::uint32_t creation = 0;
  std::uint64_t flags = 0;      // those of both
  bool replaces = false;        // as Handshake::replaces
  std::string given_name = {};  // the name that the peer has given to this node on request
};

// What an acceptor answers to a name (`kOkSimultaneous`: it tries to connect as well, and gives
// way; `kNok`: it does not give way; `kAlive`: it has a connection with that name, which the peer
// may replace). The node whose name is less, compared as bytes, gives way.
enum class HandshakeAnswer : std::uint8_t { kOk, kOkSimultaneous, kNok, kNotAllowed, kAlive };

class Handshake {
 public:
  // Makes the side that has opened the connection, to the node `peer`. `is_wanted` is called if the peer
  // has a connection with our name. It returns true if that connection is dead and this one has to replace it;
  // false ends this connection. Empty: true.
  static Handshake Initiator(HandshakeSelf self, std::string peer, Challenge challenge,
                             std::function<bool()> is_wanted = {});
  // Makes the other side. `answer` is called once, with the peer's name, and may look at other
  // connections. It is called before the peer has proved that it has the cookie. A peer without a name
  // of its own gets one that is made of the challenge; `answer` is called with it. `is_wanted` is
  // called once the peer has proved itself, before it is told so: false ends the handshake with kTaken, because
  // another connection with that peer has been made meanwhile. Empty: true.
  static Handshake Acceptor(HandshakeSelf self, Challenge challenge,
                            std::function<HandshakeAnswer(std::string_view peer)> answer,
                            std::function<bool(const HandshakePeer& peer)> is_wanted = {});

  // Returns the packet to begin with; empty if the other side begins.
  [[nodiscard]] std::string Begin();
  // Takes the next packet of the peer and appends the packets that have to be sent (none, one or two).
  // An error ends the connection; its text says which side has to change what:
  // kNotAllowed (the cookie is wrong; the peer sends a challenge of this program back; or the peer does not
  // want us), kUnsupported (a flag is missing, by name; the node is too old), kTaken (another connection of
  // these two nodes is kept), kIncorrect (a name is wrong; or it is no handshake). The packets in `to_send` have to be
  // written even then. After an error or success TakePacket returns kNotAllowed.
  gen::Result<void> TakePacket(std::string_view packet, std::vector<std::string>& to_send);
  // Returns what it means now that the peer has closed the connection instead of sending the next packet.
  // Erlang sends nothing when it refuses a cookie, a name or flags.
  [[nodiscard]] gen::Error ClosedByPeer() const;

  // Set when the handshake has succeeded; the packets to be sent have to be written first.
  [[nodiscard]] const std::optional<HandshakePeer>& peer() const noexcept { return peer_; }
  // Initiator: the peer has answered ok_simultaneous, so its own attempt has ended. Acceptor that has
  // answered kAlive: the peer replaces the old connection, which has to be closed once peer() is
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
  [[nodiscard]] std::string IssueChallenge();

  [[nodiscard]] gen::Result<std::string> Digest(std::uint32_t challenge) const;
  // Returns the proof for the peer that this node knows the cookie. Not for a challenge that another side in
  // this program has issued.
  [[nodiscard]] gen::Result<std::string> AnswerTo(std::uint32_t challenge) const;
  // Checks the peer's digest of our challenge.
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

}  // namespace ergon::dist
