#include <ergon/node/cluster/handshake/handshake.h>

#include <cluster/terms.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

namespace ergon::dist::handshake_test {
namespace {

using gen::ErrorCode;
using Packets = std::vector<std::string>;

constexpr std::uint32_t kOwnChallenge = 0x01020304;
constexpr std::uint32_t kTheirChallenge = 0xfffefdfc;
constexpr std::uint64_t kPlainFlags = kFlagsNeeded;

using terms::Big;
using terms::Bytes;

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string WithSize(std::string_view name) { return Big(name.size(), 2) + std::string(name); }

HandshakeSelf Own() { return {"own@127.0.0.1", "secret", 17}; }
HandshakeSelf Theirs() { return {"theirs@127.0.0.1", "secret", 18}; }

std::string NamePacket(std::string_view name, std::uint64_t flags = kPlainFlags,
                       std::uint32_t creation = 18) {
  return "N" + Big(flags, 8) + Big(creation, 4) + WithSize(name);
}
std::string ChallengePacket(std::string_view name, std::uint64_t flags = kPlainFlags,
                            std::uint32_t creation = 18) {
  return "N" + Big(flags, 8) + Big(kTheirChallenge, 4) + Big(creation, 4) + WithSize(name);
}
std::string ReplyPacket(std::string_view cookie = "secret") {
  return "r" + Big(kTheirChallenge, 4) + DigestOf(cookie, kOwnChallenge);
}

Handshake MakeInitiator(std::function<bool()> is_wanted = {}) {
  return Handshake::Initiator(Own(), "theirs@127.0.0.1", kOwnChallenge, std::move(is_wanted));
}
Handshake MakeAcceptor(HandshakeAnswer answer = HandshakeAnswer::kOk) {
  return Handshake::Acceptor(Own(), kOwnChallenge, [answer](std::string_view) { return answer; });
}

// The error of the last of `packets`; those before it are fine.
gen::Error ErrorOf(Handshake& handshake, const Packets& packets, Packets* sent = nullptr) {
  Packets to_send;
  for (std::size_t i = 0; i + 1 < packets.size(); ++i) {
    REQUIRE(handshake.TakePacket(packets[i], to_send).has_value());
  }
  to_send.clear();
  const auto taken = handshake.TakePacket(packets.back(), to_send);
  REQUIRE_FALSE(taken.has_value());
  CHECK_FALSE(handshake.peer().has_value());
  if (sent != nullptr) *sent = to_send;
  // Nothing comes after it.
  to_send.clear();
  CHECK(handshake.TakePacket("sok", to_send).error() == gen::ErrNotAllowed);
  CHECK(to_send.empty());
  CHECK(handshake.Begin().empty());
  return taken.error();
}

// Lets two sides talk until neither has anything to say; the errors of both.
struct Talk {
  gen::Result<void> of_initiator;
  gen::Result<void> of_acceptor;
};
Talk LetTalk(Handshake& initiator, Handshake& acceptor) {
  Talk talk;
  std::deque<std::string> to_acceptor{initiator.Begin()};
  std::deque<std::string> to_initiator;
  const auto take = [](Handshake& who, std::deque<std::string>& from,
                       std::deque<std::string>& answers) {
    Packets to_send;
    const std::string packet = from.front();
    from.pop_front();
    auto taken = who.TakePacket(packet, to_send);
    answers.insert(answers.end(), to_send.begin(), to_send.end());
    return taken;
  };
  while (talk.of_initiator && talk.of_acceptor && !(to_acceptor.empty() && to_initiator.empty())) {
    if (!to_acceptor.empty()) talk.of_acceptor = take(acceptor, to_acceptor, to_initiator);
    while (talk.of_initiator && !to_initiator.empty()) {
      talk.of_initiator = take(initiator, to_initiator, to_acceptor);
    }
  }
  return talk;
}

TEST_CASE("handshake: digests") {
  CHECK(Hex(DigestOf("secret", 0)) == "175ec77a7f63082590987d0d8b051aff");
  CHECK(Hex(DigestOf("secret", 12345)) == "d4047d3e56e6d6d63f7d16b85cd2fa88");
  CHECK(Hex(DigestOf("", 4294967295)) == "7ba34a7c9344df2acabdb0146b9e15e3");
  CHECK(Hex(DigestOf("secret", 4294967295)) == "5dfd181e69aa587cc812eb333e6536b6");
}

TEST_CASE("handshake: both sides find each other") {
  for (const auto answer :
       {HandshakeAnswer::kOk, HandshakeAnswer::kOkSimultaneous, HandshakeAnswer::kAlive}) {
    CAPTURE(answer);
    std::string asked;
    Handshake initiator = MakeInitiator();
    Handshake acceptor = Handshake::Acceptor(Theirs(), kTheirChallenge, [&](std::string_view peer) {
      CHECK(asked.empty());
      asked = peer;
      return answer;
    });
    CHECK(acceptor.Begin().empty());
    const Talk talk = LetTalk(initiator, acceptor);
    CHECK(talk.of_initiator.has_value());
    CHECK(talk.of_acceptor.has_value());
    CHECK(asked == "own@127.0.0.1");
    REQUIRE(initiator.peer().has_value());
    CHECK(initiator.peer()->name == "theirs@127.0.0.1");
    CHECK(initiator.peer()->creation == 18);
    CHECK(initiator.peer()->flags == kOwnFlags);
    REQUIRE(acceptor.peer().has_value());
    CHECK(acceptor.peer()->name == "own@127.0.0.1");
    CHECK(acceptor.peer()->creation == 17);
    CHECK(acceptor.peer()->flags == kOwnFlags);
    CHECK(initiator.replaces() == (answer == HandshakeAnswer::kOkSimultaneous));
    CHECK(acceptor.replaces() == (answer == HandshakeAnswer::kAlive));
    // It is over.
    Packets to_send;
    CHECK(initiator.TakePacket("sok", to_send).error() == gen::ErrNotAllowed);
    CHECK(acceptor.TakePacket(NamePacket("own@127.0.0.1"), to_send).error() == gen::ErrNotAllowed);
    CHECK(to_send.empty());
    CHECK(initiator.peer().has_value());
  }
}

TEST_CASE("handshake: the initiator's packets, byte for byte") {
  Handshake handshake = MakeInitiator();
  CHECK(handshake.Begin() ==
        "N" + Bytes({0x60, 0, 0, 0x0d, 0x07, 0x5f, 0x5f, 0xbc, 0, 0, 0, 17, 0, 13}) +
            "own@127.0.0.1");
  Packets sent;
  CHECK(handshake.TakePacket("sok", sent).has_value());
  CHECK(sent.empty());
  CHECK(handshake.TakePacket(ChallengePacket("theirs@127.0.0.1"), sent).has_value());
  CHECK(sent == Packets{"r" + Bytes({1, 2, 3, 4}) + DigestOf("secret", kTheirChallenge)});
  sent.clear();
  CHECK_FALSE(handshake.peer().has_value());
  CHECK(handshake.TakePacket("a" + DigestOf("secret", kOwnChallenge), sent).has_value());
  CHECK(sent.empty());
  CHECK(handshake.peer().has_value());
}

TEST_CASE("handshake: the acceptor's packets, byte for byte") {
  Handshake handshake = MakeAcceptor();
  Packets sent;
  CHECK(handshake.TakePacket(NamePacket("theirs@127.0.0.1"), sent).has_value());
  CHECK(sent == Packets{"sok", "N" +
                                   Bytes({0x60, 0, 0, 0x0d, 0x07, 0x5f, 0x5f, 0xbc, 1, 2, 3, 4, 0,
                                          0, 0, 17, 0, 13}) +
                                   "own@127.0.0.1"});
  sent.clear();
  CHECK_FALSE(handshake.peer().has_value());
  CHECK(handshake.TakePacket(ReplyPacket(), sent).has_value());
  CHECK(sent == Packets{"a" + DigestOf("secret", kTheirChallenge)});
  REQUIRE(handshake.peer().has_value());
  CHECK(handshake.peer()->flags == kPlainFlags);
}

TEST_CASE("handshake: what the acceptor answers is said to the peer") {
  const auto sent_for = [](HandshakeAnswer answer) {
    Handshake handshake = MakeAcceptor(answer);
    Packets sent;
    (void)handshake.TakePacket(NamePacket("theirs@127.0.0.1"), sent);
    return sent;
  };
  CHECK(sent_for(HandshakeAnswer::kOk).at(0) == "sok");
  CHECK(sent_for(HandshakeAnswer::kOkSimultaneous).at(0) == "sok_simultaneous");
  CHECK(sent_for(HandshakeAnswer::kAlive) == Packets{"salive"});
  CHECK(sent_for(HandshakeAnswer::kNok) == Packets{"snok"});
  CHECK(sent_for(HandshakeAnswer::kNotAllowed) == Packets{"snot_allowed"});

  const auto error_for = [](HandshakeAnswer answer) {
    Handshake handshake = MakeAcceptor(answer);
    return ErrorOf(handshake, {NamePacket("theirs@127.0.0.1")});
  };
  CHECK(error_for(HandshakeAnswer::kNok).code() == ErrorCode::kTaken);
  CHECK(error_for(HandshakeAnswer::kNotAllowed).code() == ErrorCode::kNotAllowed);
}

TEST_CASE("handshake: what the peer's status means") {
  const auto error_of = [](const std::string& status) {
    Handshake handshake = MakeInitiator();
    return ErrorOf(handshake, {status});
  };
  CHECK(error_of("snok").code() == ErrorCode::kTaken);
  CHECK(error_of("snok").detail() ==
        "theirs@127.0.0.1 is connecting to this node as well, and that attempt goes on");
  CHECK(error_of("snot_allowed").code() == ErrorCode::kNotAllowed);
  CHECK(error_of("snot_allowed").detail() ==
        "theirs@127.0.0.1 does not allow connections from own@127.0.0.1: see net_kernel:allow/1 "
        "there, and its log");
  CHECK(
      error_of("snamed:" + WithSize("x@127.0.0.1") + Big(5, 4)).detail() ==
      "handshake: theirs@127.0.0.1 gives a name to this node, which has one and has not asked for "
      "another");
  CHECK(error_of("sfine").detail() ==
        "handshake: a known status was expected, the status 'fine' came");
  CHECK(error_of("ok").detail() ==
        "handshake: a status was expected, 2 bytes that begin with 'o' came");
  CHECK(error_of("").detail() == "handshake: a status was expected, nothing came");
  CHECK(error_of("s").code() == ErrorCode::kIncorrect);
}

TEST_CASE("handshake: a connection that is alive is replaced, or kept") {
  SUBCASE("the initiator is asked") {
    for (const bool is_wanted : {true, false}) {
      Handshake handshake = MakeInitiator([is_wanted] { return is_wanted; });
      Packets sent;
      const auto taken = handshake.TakePacket("salive", sent);
      CHECK(taken.has_value() == is_wanted);
      CHECK(sent == Packets{is_wanted ? "strue" : "sfalse"});
      if (!taken) CHECK(taken.error().code() == ErrorCode::kTaken);
    }
  }
  SUBCASE("the acceptor is told") {
    Handshake handshake = MakeAcceptor(HandshakeAnswer::kAlive);
    Packets sent;
    REQUIRE(handshake.TakePacket(NamePacket("theirs@127.0.0.1"), sent).has_value());
    CHECK_FALSE(handshake.replaces());
    sent.clear();
    REQUIRE(handshake.TakePacket("strue", sent).has_value());
    CHECK(handshake.replaces());
    CHECK(sent.size() == 1);
    CHECK(sent[0][0] == 'N');
    REQUIRE(handshake.TakePacket(ReplyPacket(), sent).has_value());
    CHECK(handshake.peer().has_value());
  }
  SUBCASE("the acceptor is told to keep it") {
    Handshake handshake = MakeAcceptor(HandshakeAnswer::kAlive);
    Packets sent;
    const gen::Error error = ErrorOf(handshake, {NamePacket("theirs@127.0.0.1"), "sfalse"}, &sent);
    CHECK(error.code() == ErrorCode::kTaken);
    CHECK(sent.empty());
    CHECK_FALSE(handshake.replaces());
  }
  SUBCASE("the acceptor hears neither") {
    for (const char* answer : {"smaybe", "true", "", "s"}) {
      Handshake handshake = MakeAcceptor(HandshakeAnswer::kAlive);
      CHECK(ErrorOf(handshake, {NamePacket("theirs@127.0.0.1"), answer}) == gen::ErrIncorrect);
    }
  }
}

TEST_CASE("handshake: another cookie") {
  const std::string text =
      "the cookie of theirs@127.0.0.1 is another one: give both nodes the same";
  SUBCASE("the acceptor's peer") {
    Handshake handshake = MakeAcceptor();
    Packets sent;
    const gen::Error error =
        ErrorOf(handshake, {NamePacket("theirs@127.0.0.1"), ReplyPacket("Secret")}, &sent);
    CHECK(error.code() == ErrorCode::kNotAllowed);
    CHECK(error.detail() == text);
    CHECK(sent.empty());  // nothing that a cookie could be guessed with
  }
  SUBCASE("the initiator's peer") {
    Handshake handshake = MakeInitiator();
    const gen::Error error = ErrorOf(handshake, {"sok", ChallengePacket("theirs@127.0.0.1"),
                                                 "a" + DigestOf("Secret", kOwnChallenge)});
    CHECK(error.code() == ErrorCode::kNotAllowed);
    CHECK(error.detail() == text);
  }
  SUBCASE("the initiator's peer has closed the connection") {
    Handshake handshake = MakeInitiator();
    Packets sent;
    REQUIRE(handshake.TakePacket("sok", sent).has_value());
    REQUIRE(handshake.TakePacket(ChallengePacket("theirs@127.0.0.1"), sent).has_value());
    CHECK(handshake.ClosedByPeer().code() == ErrorCode::kNotAllowed);
    CHECK(handshake.ClosedByPeer().detail() ==
          text + ". Or it has just connected to this node; see its log");
  }
  SUBCASE("both sides") {
    HandshakeSelf other = Theirs();
    other.cookie = "";
    Handshake initiator = MakeInitiator();
    Handshake acceptor = Handshake::Acceptor(other, kTheirChallenge,
                                             [](std::string_view) { return HandshakeAnswer::kOk; });
    const Talk talk = LetTalk(initiator, acceptor);
    REQUIRE_FALSE(talk.of_acceptor.has_value());
    CHECK(talk.of_acceptor.error().detail() ==
          "the cookie of own@127.0.0.1 is another one: give both nodes the same");
    CHECK_FALSE(initiator.peer().has_value());
  }
}

// A peer without the cookie hands back what this node has asked on another connection.
TEST_CASE("handshake: a challenge of this node's is not answered, to whichever side") {
  const auto ok = [](std::string_view) { return HandshakeAnswer::kOk; };
  const auto challenge_of = [](Handshake& acceptor) {
    Packets sent;
    REQUIRE(acceptor.TakePacket(NamePacket("thief@127.0.0.1"), sent).has_value());
    return sent.at(1).substr(9, 4);
  };
  const auto challenge_packet = [](const std::string& challenge) {
    return "N" + Big(kPlainFlags, 8) + challenge + Big(18, 4) + WithSize("theirs@127.0.0.1");
  };
  const std::string text =
      "hands a challenge of this program back: it does not know the cookie, and wants to hear the "
      "answer";
  SUBCASE("that of a handshake with one who has dialled, on a connection that this node dials") {
    std::string challenge;
    {
      Handshake asked = Handshake::Acceptor(Own(), Challenge(), ok);
      challenge = challenge_of(asked);
      Handshake dialling = Handshake::Initiator(Own(), "theirs@127.0.0.1", Challenge());
      Packets sent;
      const gen::Error error = ErrorOf(dialling, {"sok", challenge_packet(challenge)}, &sent);
      CHECK(error.code() == ErrorCode::kNotAllowed);
      CHECK(error.detail() == "handshake: theirs@127.0.0.1 " + text);
      CHECK(sent.empty());
    }
    // It is worth nothing any more.
    Handshake dialling = Handshake::Initiator(Own(), "theirs@127.0.0.1", Challenge());
    Packets sent;
    REQUIRE(dialling.TakePacket("sok", sent).has_value());
    CHECK(dialling.TakePacket(challenge_packet(challenge), sent).has_value());
  }
  SUBCASE("that of a handshake that this node has begun, on a connection of one who has dialled") {
    Handshake dialling = Handshake::Initiator(Own(), "theirs@127.0.0.1", Challenge());
    Packets sent;
    REQUIRE(dialling.TakePacket("sok", sent).has_value());
    REQUIRE(dialling.TakePacket(ChallengePacket("theirs@127.0.0.1"), sent).has_value());
    const std::string asked = sent.at(0).substr(1, 4);
    Handshake acceptor = Handshake::Acceptor(Own(), Challenge(), ok);
    const std::string challenge = challenge_of(acceptor);
    sent.clear();
    // It proves itself, so that it knows the cookie, or has it answered by another node.
    const auto taken = acceptor.TakePacket(
        "r" + asked +
            DigestOf("secret", static_cast<std::uint32_t>(std::stoul(Hex(challenge), nullptr, 16))),
        sent);
    REQUIRE_FALSE(taken.has_value());
    CHECK(taken.error().detail() == "handshake: thief@127.0.0.1 " + text);
    CHECK(sent.empty());
    CHECK_FALSE(acceptor.peer().has_value());
  }
}

TEST_CASE("handshake: a peer that has proved itself is not wanted any more") {
  std::string asked;
  Handshake initiator = MakeInitiator();
  Handshake acceptor = Handshake::Acceptor(
      Theirs(), kTheirChallenge, [](std::string_view) { return HandshakeAnswer::kAlive; },
      [&](const HandshakePeer& peer) {
        asked = peer.name;
        CHECK(peer.replaces);
        return false;
      });
  const Talk talk = LetTalk(initiator, acceptor);
  CHECK(asked == "own@127.0.0.1");
  REQUIRE_FALSE(talk.of_acceptor.has_value());
  CHECK(talk.of_acceptor.error() == gen::ErrTaken);
  CHECK_FALSE(acceptor.peer().has_value());
  CHECK_FALSE(initiator.peer().has_value());  // it was told nothing
}

TEST_CASE("handshake: who has another cookie is not asked for") {
  HandshakeSelf other = Theirs();
  other.cookie = "another";
  bool was_asked = false;
  Handshake initiator = MakeInitiator();
  Handshake acceptor = Handshake::Acceptor(
      other, kTheirChallenge, [](std::string_view) { return HandshakeAnswer::kOk; },
      [&](const HandshakePeer&) { return was_asked = true; });
  (void)LetTalk(initiator, acceptor);
  CHECK_FALSE(was_asked);
}

TEST_CASE("handshake: texts do not tell digests") {
  Handshake handshake = MakeAcceptor();
  const std::string digest = DigestOf("secret", kOwnChallenge);
  CHECK(ErrorOf(handshake, {NamePacket("theirs@127.0.0.1"), "r" + digest}).detail() ==
        "handshake: the answer to the challenge was expected, 17 bytes that begin with 'r' came");
}

TEST_CASE("handshake: a digest that differs in one bit") {
  for (std::size_t bit = 0; bit < 128; ++bit) {
    Handshake handshake = MakeAcceptor();
    std::string reply = ReplyPacket();
    reply[5 + bit / 8] = static_cast<char>(reply[5 + bit / 8] ^ (1 << (bit % 8)));
    CHECK(ErrorOf(handshake, {NamePacket("theirs@127.0.0.1"), reply}) == gen::ErrNotAllowed);
  }
}

TEST_CASE("handshake: what the peer's end means") {
  const auto text = [](const Handshake& handshake) {
    CHECK(handshake.ClosedByPeer().code() == ErrorCode::kNoConnection);
    return std::string(handshake.ClosedByPeer().detail());
  };
  Packets sent;
  Handshake initiator = MakeInitiator();
  CHECK(text(initiator) ==
        "handshake: theirs@127.0.0.1 has closed the connection when it heard the name "
        "own@127.0.0.1: it is too old, stopping, or no Erlang node");
  REQUIRE(initiator.TakePacket("sok", sent).has_value());
  CHECK(text(initiator).find("before its challenge") != std::string::npos);

  Handshake acceptor = MakeAcceptor();
  CHECK(text(acceptor) ==
        "handshake: the other node has closed the connection before it has said its name");
  REQUIRE(acceptor.TakePacket(NamePacket("theirs@127.0.0.1"), sent).has_value());
  CHECK(text(acceptor).find("that node has asked for this node under another name") !=
        std::string::npos);
  REQUIRE(acceptor.TakePacket(ReplyPacket(), sent).has_value());
  CHECK(text(acceptor) == "handshake: the connection has ended");

  Handshake alive = MakeAcceptor(HandshakeAnswer::kAlive);
  REQUIRE(alive.TakePacket(NamePacket("theirs@127.0.0.1"), sent).has_value());
  CHECK(text(alive).find("it keeps the one that it has") != std::string::npos);
}

TEST_CASE("handshake: flags") {
  const auto chosen = [](std::uint64_t flags) {
    Handshake handshake = MakeAcceptor();
    Packets sent;
    REQUIRE(handshake.TakePacket(NamePacket("theirs@127.0.0.1", flags), sent).has_value());
    REQUIRE(handshake.TakePacket(ReplyPacket(), sent).has_value());
    return handshake.peer()->flags;
  };
  SUBCASE("those of erl 25") { CHECK(chosen(0xd07df7fbd) == (0xd07df7fbd & kOwnFlags)); }
  SUBCASE("those of libei, which has neither DIST_MONITOR_NAME nor SEND_SENDER") {
    CHECK(chosen(0x407074f9c) == (0x407074f9c & kOwnFlags));
  }
  SUBCASE("one that stands for many") {
    CHECK(chosen(kFlagMandatory25Digest | kFlagUnlinkId | kFlagV4Nc) ==
          (kFlagsNeeded | kFlagMandatory25Digest));
  }
  SUBCASE("ones that we do not know") {
    CHECK(chosen(kPlainFlags | std::uint64_t{0xfff} << 40) == kPlainFlags);
  }
}

TEST_CASE("handshake: each flag that is needed is missed by name") {
  const std::pair<std::uint64_t, const char*> needed[] = {{0x4, "EXTENDED_REFERENCES"},
                                                          {0x10, "FUN_TAGS"},
                                                          {0x80, "NEW_FUN_TAGS"},
                                                          {0x100, "EXTENDED_PIDS_PORTS"},
                                                          {0x200, "EXPORT_PTR_TAG"},
                                                          {0x400, "BIT_BINARIES"},
                                                          {0x800, "NEW_FLOATS"},
                                                          {0x10000, "UTF8_ATOMS"},
                                                          {0x20000, "MAP_TAG"},
                                                          {0x40000, "BIG_CREATION"},
                                                          {0x1000000, "HANDSHAKE_23"},
                                                          {0x2000000, "UNLINK_ID"},
                                                          {std::uint64_t{4} << 32, "V4_NC"}};
  for (const auto& [flag, name] : needed) {
    CAPTURE(name);
    const std::string text =
        fmt::format("theirs@127.0.0.1 does not understand {}: update it to OTP 24 or later", name);
    Packets sent;
    Handshake acceptor = MakeAcceptor();
    const gen::Error of_acceptor =
        ErrorOf(acceptor, {NamePacket("theirs@127.0.0.1", kPlainFlags & ~flag)}, &sent);
    CHECK(of_acceptor.code() == ErrorCode::kUnsupported);
    CHECK(of_acceptor.detail() == text);
    CHECK(sent == Packets{"snot_allowed"});

    Handshake initiator = MakeInitiator();
    const gen::Error of_initiator = ErrorOf(
        initiator, {"sok", ChallengePacket("theirs@127.0.0.1", kPlainFlags & ~flag)}, &sent);
    CHECK(of_initiator.code() == ErrorCode::kUnsupported);
    CHECK(of_initiator.detail() == text);
    CHECK(sent.empty());
  }
  Handshake handshake = MakeAcceptor();
  CHECK(ErrorOf(handshake, {NamePacket("theirs@127.0.0.1", 0)})
            .detail()
            .find("EXTENDED_REFERENCES, FUN_TAGS, ") != std::string::npos);
}

TEST_CASE("handshake: an old peer") {
  const std::string text =
      "handshake: the other node speaks version 5, which OTP 25 has given up: update it to OTP 24 "
      "or later";
  Packets sent;
  Handshake acceptor = MakeAcceptor();
  const gen::Error of_acceptor =
      ErrorOf(acceptor, {"n" + Big(5, 2) + Big(0x1000fbc, 4) + "theirs@127.0.0.1"}, &sent);
  CHECK(of_acceptor.code() == ErrorCode::kUnsupported);
  CHECK(of_acceptor.detail() == text);
  CHECK(sent == Packets{"snot_allowed"});

  Handshake initiator = MakeInitiator();
  const gen::Error of_initiator = ErrorOf(
      initiator, {"sok", "n" + Big(5, 2) + Big(0x1000fbc, 4) + Big(1, 4) + "theirs@127.0.0.1"});
  CHECK(of_initiator.code() == ErrorCode::kUnsupported);
  CHECK(of_initiator.detail() == text);
}

TEST_CASE("handshake: names that are none") {
  const std::string long_name = std::string(243, 'x') + "@127.0.0.1";
  for (const std::string& name :
       {std::string(), std::string("theirs"), std::string("@127.0.0.1"), std::string("theirs@"),
        std::string("a@b@127.0.0.1"), std::string("a b@127.0.0.1"), std::string("a@127.0.0.1\n"),
        std::string("a\0@127.0.0.1", 12), std::string("\xc3\xa4@127.0.0.1"),
        'x' + long_name + "xx"}) {
    CAPTURE(name);
    Packets sent;
    Handshake handshake = MakeAcceptor();
    const gen::Error error = ErrorOf(handshake, {NamePacket(name)}, &sent);
    CHECK(error.code() == ErrorCode::kIncorrect);
    CHECK(error.detail().starts_with("node name: "));
    CHECK(std::all_of(error.detail().begin(), error.detail().end(),
                      [](char byte) { return byte >= 0x20 && byte < 0x7f; }));
    CHECK(sent == Packets{"snot_allowed"});
  }
  Handshake handshake = MakeAcceptor();
  Packets sent;
  CHECK(handshake.TakePacket(NamePacket(long_name), sent).has_value());
}

TEST_CASE("handshake: short and long names") {
  const std::string text =
      "'a@host' has a short name and 'b@host.example' a long one: start both with erl's -name and "
      "a "
      "host with a domain or an address, or both with -sname";
  Packets sent;
  SUBCASE("as the acceptor") {
    for (const bool is_own_long : {true, false}) {
      HandshakeSelf self = Own();
      self.name = is_own_long ? "b@host.example" : "a@host";
      Handshake handshake = Handshake::Acceptor(
          self, kOwnChallenge, [](std::string_view) { return HandshakeAnswer::kOk; });
      CHECK(ErrorOf(handshake, {NamePacket(is_own_long ? "a@host" : "b@host.example")}, &sent)
                .detail() == text);
      CHECK(sent == Packets{"snot_allowed"});
    }
  }
  SUBCASE("as the initiator, whatever the peer says to that") {
    for (const char* status : {"sok", "snot_allowed", "salive"}) {
      HandshakeSelf self = Own();
      self.name = "a@host";
      Handshake handshake = Handshake::Initiator(self, "b@host.example", kOwnChallenge);
      CHECK(ErrorOf(handshake, {status}).detail() == text);
    }
  }
  SUBCASE("a peer that has the other kind than it was called by") {
    HandshakeSelf self = Own();
    self.name = "a@host.example";
    Handshake handshake = Handshake::Initiator(self, "b@host.example", kOwnChallenge);
    const gen::Error error = ErrorOf(handshake, {"sok", ChallengePacket("b@host")});
    CHECK(error.code() == ErrorCode::kIncorrect);
    CHECK(error.detail() ==
          "'b@host' has answered instead of b@host.example: 'b@host' has a short name and "
          "'b@host.example' a long one; call it by the name that it has");
  }
}

TEST_CASE("handshake: another node than the one that was called") {
  Handshake handshake = MakeInitiator();
  CHECK(ErrorOf(handshake, {"sok", ChallengePacket("other@127.0.0.1")}).detail() ==
        "'other@127.0.0.1' has answered instead of theirs@127.0.0.1");
  Handshake own = MakeAcceptor();
  CHECK(ErrorOf(own, {NamePacket("own@127.0.0.1")}).detail() ==
        "both nodes have the name 'own@127.0.0.1': give each its own");
}

TEST_CASE("handshake: the creation 0 is none") {
  Handshake acceptor = MakeAcceptor();
  CHECK(ErrorOf(acceptor, {NamePacket("theirs@127.0.0.1", kPlainFlags, 0)}) == gen::ErrIncorrect);
  Handshake initiator = MakeInitiator();
  CHECK(ErrorOf(initiator, {"sok", ChallengePacket("theirs@127.0.0.1", kPlainFlags, 0)}) ==
        gen::ErrIncorrect);
}

TEST_CASE("handshake: a peer without a name gets one") {
  const std::string request = NamePacket("127.0.0.1", kPlainFlags | kFlagNameMe, 0);
  const auto given = [&](std::uint32_t challenge) {
    std::string asked;
    Handshake handshake = Handshake::Acceptor(Own(), challenge, [&](std::string_view peer) {
      asked = peer;
      return HandshakeAnswer::kOk;
    });
    Packets sent;
    REQUIRE(handshake.TakePacket(request, sent).has_value());
    REQUIRE(sent.size() == 2);
    // Status, name with its length, creation.
    REQUIRE(sent[0].size() == 7 + 2 + 22 + 4);
    CHECK(sent[0].substr(0, 7) == "snamed:");
    CHECK(sent[0].substr(7, 2) == Big(22, 2));
    const std::string name = sent[0].substr(9, 22);
    CHECK(name == asked);
    CHECK(name.substr(12) == "@127.0.0.1");
    CHECK(std::all_of(name.begin(), name.begin() + 12, [](unsigned char letter) {
      return std::isdigit(letter) != 0 || std::isupper(letter) != 0;
    }));
    CHECK(sent[0].substr(31) >= Big(4, 4));
    CHECK(sent[1].substr(0, 9) == "N" + Big(kOwnFlags | kFlagNameMe, 8));
    REQUIRE(
        handshake.TakePacket("r" + Big(kTheirChallenge, 4) + DigestOf("secret", challenge), sent)
            .has_value());
    CHECK(handshake.peer()->name == name);
    CHECK(Big(handshake.peer()->creation, 4) == sent[0].substr(31));
    CHECK((handshake.peer()->flags & kFlagNameMe) == 0);
    return name;
  };
  CHECK(given(1) != given(2));
  CHECK(given(1) == given(1));

  SUBCASE("only if that is nobody's") {
    for (const auto answer : {HandshakeAnswer::kAlive, HandshakeAnswer::kNok,
                              HandshakeAnswer::kOkSimultaneous, HandshakeAnswer::kNotAllowed}) {
      Handshake handshake = MakeAcceptor(answer);
      Packets sent;
      CHECK(ErrorOf(handshake, {request}, &sent).code() == ErrorCode::kNotAllowed);
      CHECK(sent == Packets{"snot_allowed"});
    }
  }
  SUBCASE("only with a host that is one, of our kind") {
    for (const std::string& host : {std::string(), std::string("a@127.0.0.1"), std::string("host"),
                                    std::string(250, 'x') + ".y", std::string("a b.c")}) {
      Handshake handshake = MakeAcceptor();
      Packets sent;
      CHECK(ErrorOf(handshake, {NamePacket(host, kPlainFlags | kFlagNameMe, 0)}, &sent) ==
            gen::ErrIncorrect);
      CHECK(sent == Packets{"snot_allowed"});
    }
  }
}

TEST_CASE("handshake: a node without a name is given one") {
  const auto make = [](const std::string& peer = "theirs@127.0.0.1") {
    return Handshake::Initiator({"127.0.0.1", "secret", 0}, peer, kOwnChallenge);
  };
  const auto named = [](std::string_view name) { return "snamed:" + WithSize(name) + Big(5, 4); };

  SUBCASE("by each other, to the end") {
    Handshake asking = make();
    Handshake giving = Handshake::Acceptor(Theirs(), kTheirChallenge,
                                           [](std::string_view) { return HandshakeAnswer::kOk; });
    CHECK(asking.Begin() == NamePacket("127.0.0.1", kOwnFlags | kFlagNameMe, 0));
    Packets to_giving{asking.Begin()};
    Packets to_asking;
    while (!asking.peer()) {
      for (const std::string& packet : std::exchange(to_giving, {})) {
        REQUIRE(giving.TakePacket(packet, to_asking));
      }
      for (const std::string& packet : std::exchange(to_asking, {})) {
        REQUIRE(asking.TakePacket(packet, to_giving));
      }
    }
    REQUIRE(giving.peer());
    CHECK(asking.peer()->given_name == giving.peer()->name);
    CHECK(asking.peer()->name == "theirs@127.0.0.1");
  }
  SUBCASE("who has a name is given none") {
    Handshake handshake = MakeInitiator();
    Packets sent;
    REQUIRE(handshake.TakePacket("sok", sent));
    REQUIRE(handshake.TakePacket(ChallengePacket("theirs@127.0.0.1"), sent));
    REQUIRE(handshake.TakePacket("a" + DigestOf("secret", kOwnChallenge), sent));
    CHECK(handshake.peer()->given_name.empty());
  }
  SUBCASE("what is no name for it is an error") {
    const auto error_of = [&](const std::string& status) {
      Handshake handshake = make();
      return ErrorOf(handshake, {status});
    };
    CHECK(error_of(named("X@10.0.0.1")).detail() ==
          "handshake: theirs@127.0.0.1 has given the name 'X@10.0.0.1' to a node on the host "
          "'127.0.0.1'");
    CHECK(error_of(named("X")) == gen::ErrIncorrect);
    CHECK(error_of(named("@127.0.0.1")) == gen::ErrIncorrect);
    CHECK(error_of(named(std::string(300, 'x') + "@127.0.0.1")) == gen::ErrIncorrect);
    CHECK(error_of("snamed:" + Big(20, 2) + "X@127.0.0.1") == gen::ErrIncorrect);
    CHECK(error_of("snamed:") == gen::ErrIncorrect);
    CHECK(error_of("sok").code() == ErrorCode::kUnsupported);
    CHECK(error_of("sok_simultaneous").code() == ErrorCode::kUnsupported);
    CHECK(error_of("salive").code() == ErrorCode::kUnsupported);
    CHECK(error_of("snot_allowed").code() == ErrorCode::kNotAllowed);
  }
  SUBCASE("of the kind that the peer has") {
    Handshake handshake = make("theirs@short");
    CHECK(ErrorOf(handshake, {named("X@127.0.0.1")}).code() == ErrorCode::kIncorrect);
  }
}

// Names and challenges may have more behind them, for later versions.
TEST_CASE("handshake: what comes behind names is ignored") {
  Packets sent;
  Handshake acceptor = MakeAcceptor();
  CHECK(acceptor.TakePacket(NamePacket("theirs@127.0.0.1") + "more", sent).has_value());
  Handshake initiator = MakeInitiator();
  CHECK(initiator.TakePacket("sok", sent).has_value());
  CHECK(initiator.TakePacket(ChallengePacket("theirs@127.0.0.1") + "more", sent).has_value());
}

// What a handshake is in the middle of: the packets until there, and the next one.
struct Stage {
  const char* name;
  std::function<Handshake()> make;
  Packets before;
  std::string next;
};
std::vector<Stage> Stages() {
  const std::string name = NamePacket("theirs@127.0.0.1");
  const std::string challenge = ChallengePacket("theirs@127.0.0.1");
  const auto initiator = [] { return MakeInitiator(); };
  const auto acceptor = [] { return MakeAcceptor(); };
  return {
      {"status", initiator, {}, "sok"},
      {"challenge", initiator, {"sok"}, challenge},
      {"acknowledgement", initiator, {"sok", challenge}, "a" + DigestOf("secret", kOwnChallenge)},
      {"name", acceptor, {}, name},
      {"answer to alive", [] { return MakeAcceptor(HandshakeAnswer::kAlive); }, {name}, "strue"},
      {"reply", acceptor, {name}, ReplyPacket()}};
}

TEST_CASE("handshake: packets that are cut off") {
  for (const Stage& stage : Stages()) {
    CAPTURE(stage.name);
    for (std::size_t size = 0; size < stage.next.size(); ++size) {
      CAPTURE(size);
      Handshake handshake = stage.make();
      Packets packets = stage.before;
      packets.push_back(stage.next.substr(0, size));
      CHECK_FALSE(ErrorOf(handshake, packets).detail().empty());
    }
    Handshake handshake = stage.make();
    Packets sent;
    for (const std::string& packet : stage.before) {
      REQUIRE(handshake.TakePacket(packet, sent).has_value());
    }
    CHECK(handshake.TakePacket(stage.next, sent).has_value());
  }
}

TEST_CASE("handshake: random packets are refused wherever they come") {
  std::mt19937 random(15);
  for (const Stage& stage : Stages()) {
    CAPTURE(stage.name);
    for (int i = 0; i < 2000; ++i) {
      std::string packet;
      if (i % 2 == 0) {
        packet.resize(random() % 64);
        for (char& byte : packet) byte = static_cast<char>(random());
        if (packet.size() > 1 && i % 4 == 0) packet[0] = stage.next[0];
      } else {
        packet = stage.next;
        packet[random() % packet.size()] = static_cast<char>(random());
      }
      Handshake handshake = stage.make();
      Packets sent;
      for (const std::string& before : stage.before) {
        REQUIRE(handshake.TakePacket(before, sent).has_value());
      }
      const auto taken = handshake.TakePacket(packet, sent);
      if (!taken) {
        CHECK_FALSE(taken.error().detail().empty());
        CHECK(taken.error().detail().find("secret") == std::string_view::npos);
      }
      // Only a digest of the cookie proves anything.
      if (handshake.peer().has_value() && stage.next[0] != 'r') CHECK(packet == stage.next);
    }
  }
}

}  // namespace
}  // namespace ergon::dist::handshake_test
