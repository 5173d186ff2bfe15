// The handshake of the Erlang distribution, from either side, with whatever a peer may send. Only who
// knows the cookie gets through; what has been refused stays refused; and texts are one line without
// the cookie.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fuzz/fuzz.h>

#include <ergon/node/cluster/handshake/handshake.h>

namespace dist = ergon::dist;
using ergon::fuzz::Require;

namespace {

constexpr std::uint32_t kChallenge = 0x12345678;
constexpr std::string_view kCookie = "oatmeal&raisins";
constexpr std::size_t kMostSent = 300;

// A byte of the input, removed from it; 0: there are none left.
std::uint8_t TakeByte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

std::string TakePacket(std::string_view& input) {
  const std::size_t size = std::min<std::size_t>(TakeByte(input), input.size());
  std::string packet(input.substr(0, size));
  input.remove_prefix(size);
  return packet;
}

bool IsOneLine(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) >= 0x20; });
}

dist::Handshake Begin(std::uint8_t choice) {
  dist::HandshakeSelf self{"own@127.0.0.1", std::string(kCookie), 7};
  if (choice % 2 != 0) self.name = "own@host";
  if (choice / 2 % 2 != 0) {
    const bool is_wanted = choice / 4 % 2 != 0;
    if (choice / 8 % 2 != 0) self.name = "127.0.0.1";  // it wants a name
    return dist::Handshake::Initiator(std::move(self), "peer@127.0.0.1", kChallenge,
                                      [is_wanted] { return is_wanted; });
  }
  const auto answer = static_cast<dist::HandshakeAnswer>(choice / 4 % 5);
  return dist::Handshake::Acceptor(std::move(self), kChallenge, [answer](std::string_view peer) {
    Require(peer.find('@') != std::string_view::npos, "who is asked for has the name of a node");
    return answer;
  });
}

void CheckError(const ergon::gen::Error& error, std::string_view packet) {
  Require(!error.detail().empty(), "an error says what is wrong");
  Require(IsOneLine(error.detail()), "an error is one line");
  Require(error.detail().find(kCookie) == std::string_view::npos ||
              packet.find(kCookie) != std::string_view::npos,
          "nobody is told the cookie who has not told it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = ergon::fuzz::TextOf(data, size);
  dist::Handshake handshake = Begin(TakeByte(input));
  (void)handshake.Begin();
  const std::string proof = dist::DigestOf(kCookie, kChallenge);
  bool is_over = false;
  while (!input.empty()) {
    // A fuzzer does not find digests: some packets end with the one that proves the cookie.
    const bool is_proved = TakeByte(input) % 4 == 1;
    std::string packet = TakePacket(input);
    if (is_proved) packet += proof;
    const bool had_peer = handshake.peer().has_value();
    std::vector<std::string> sent;
    const auto taken = handshake.TakePacket(packet, sent);
    Require(!taken.has_value() || !is_over, "after an error or success nothing more is taken");
    Require(!is_over || sent.empty(), "nor is anything sent");
    Require(had_peer || !handshake.peer().has_value() || packet.ends_with(proof),
            "only who knows the cookie gets through");
    for (const std::string& answer : sent) {
      Require(!answer.empty() && answer.size() < kMostSent, "answers are short");
    }
    if (!taken) CheckError(taken.error(), packet);
    CheckError(handshake.ClosedByPeer(), packet);
    if (handshake.peer().has_value()) {
      Require(taken.has_value() || is_over, "who gets through is told so");
      const dist::HandshakePeer& peer = *handshake.peer();
      Require(peer.creation != 0, "a peer has a creation");
      Require((peer.flags & ~dist::kOwnFlags) == 0, "only what we understand is used");
      Require((peer.flags & dist::kFlagsNeeded) == dist::kFlagsNeeded, "what we need is there");
      Require(peer.given_name.empty() || peer.given_name.ends_with("@127.0.0.1"),
              "a name that is given is one of the own host");
      Require(peer.name.size() <= 255 && peer.name.find('@') < peer.name.size() - 1,
              "a peer has the name of a node");
    }
    is_over = is_over || !taken.has_value() || handshake.peer().has_value();
  }
  return 0;
}
