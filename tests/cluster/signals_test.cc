#include <ergon/node/cluster/signals/signal_codec.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <ergon/node/cluster/handshake/flags.h>
#include <ergon/node/cluster/signals/frame_writer.h>

#include <cluster/terms.h>

namespace ergon::dist::signals_test {
namespace {

constexpr std::size_t kDepth = 100;
constexpr std::uint64_t kOldFlags = kOwnFlags & ~(kFlagSendSender | kFlagExitPayload);

using terms::Big;
using terms::Bytes;

// Terms.
std::string AtomTerm(std::string_view text) {
  return Bytes({119, static_cast<int>(text.size())}) + std::string(text);
}
std::string Number(int number) { return Bytes({97, number}); }
std::string Tuple(const std::vector<std::string>& elements) {
  std::string term = Bytes({104, static_cast<int>(elements.size())});
  for (const std::string& element : elements) term += element;
  return term;
}
std::string PidTerm(std::string_view node, std::uint32_t number, std::uint32_t serial,
                    std::uint32_t creation, int atom_tag = 119) {
  const bool is_small = atom_tag == 119 || atom_tag == 115;
  return Bytes({88, atom_tag}) + Big(node.size(), is_small ? 1 : 2) + std::string(node) +
         Big(number, 4) + Big(serial, 4) + Big(creation, 4);
}
std::string ReferenceTerm(std::string_view node) {
  return Bytes({90, 0, 3}) + AtomTerm(node) + Big(9, 4) + Big(1, 4) + Big(2, 4) + Big(3, 4);
}

const gen::Atom kOwn("own@127.0.0.1");
const gen::Atom kPeer("peer@127.0.0.1");
const Peers kPeers{kOwn, kPeer};
const Peers kReversed{kPeer, kOwn};
const gen::PID kOwnPid{std::uint64_t{3} << 32 | 5, kOwn, 7};
const gen::PID kPeerPid{std::uint64_t{0xfffffffe} << 32 | 0xfffffffd, kPeer, 8};
const std::string kOwnTerm = PidTerm("own@127.0.0.1", 5, 3, 7);
const std::string kPeerTerm = PidTerm("peer@127.0.0.1", 0xfffffffd, 0xfffffffe, 8);
const std::string kReference = ReferenceTerm("peer@127.0.0.1");
const std::string kToken = Tuple({Number(1), AtomTerm("label"), Number(2), kPeerTerm, Number(3)});
const std::string kNotSupported = AtomTerm("notsup");
// {hello, 42}, and the list [x].
const std::string kMessage = Tuple({AtomTerm("hello"), Number(42)});
const std::string kList = Bytes({108, 0, 0, 0, 1}) + AtomTerm("x") + Bytes({106});

std::string Frame(const std::vector<std::string>& control, std::string_view payload = {}) {
  std::string frame = Bytes({112, 131}) + Tuple(control);
  if (!payload.empty()) frame += Bytes({131}) + std::string(payload);
  return frame;
}
std::string WithLength(const std::string& frame) { return Big(frame.size(), 4) + frame; }

auto Fields(const Signal& signal) {
  return std::tie(signal.kind, signal.from, signal.to, signal.name, signal.ref, signal.id,
                  signal.payload, signal.module, signal.function, signal.arity, signal.links,
                  signal.token);
}

std::string ErrorOf(std::string_view frame, const Peers& peers = kPeers) {
  const auto signal = ParseFrame(frame, peers, kDepth);
  REQUIRE_FALSE(signal.has_value());
  CHECK(signal.error() == gen::ErrIncorrect);
  CHECK_FALSE(signal.error().detail().empty());
  return std::string(signal.error().detail());
}

// A signal as it is sent, and its frames to a peer of today and to an older one.
struct Case {
  const char* name;
  Signal signal;
  std::string frame;
  std::string older;  // empty: the same
};
// From our side.
std::vector<Case> Cases() {
  using Kind = SignalKind;
  const gen::PID& from = kOwnPid;
  const gen::PID& to = kPeerPid;
  const std::string& ref = kReference;
  const std::string none = AtomTerm("");
  return {
      {"send",
       {.kind = Kind::kSend, .from = from, .to = to, .payload = kMessage},
       Frame({Number(22), kOwnTerm, kPeerTerm}, kMessage),
       Frame({Number(2), none, kPeerTerm}, kMessage)},
      {"send of nobody",
       {.kind = Kind::kSend, .to = to, .payload = kMessage},
       Frame({Number(2), none, kPeerTerm}, kMessage),
       {}},
      {"send to a name",
       {.kind = Kind::kSendToName, .from = from, .name = "p\xc3\xb6ol", .payload = kMessage},
       Frame({Number(6), kOwnTerm, none, AtomTerm("p\xc3\xb6ol")}, kMessage),
       {}},
      {"send to an alias",
       {.kind = Kind::kSendToAlias, .from = from, .ref = ref, .payload = kMessage},
       Frame({Number(33), kOwnTerm, ref}, kMessage),
       {}},
      {"link",
       {.kind = Kind::kLink, .from = from, .to = to},
       Frame({Number(1), kOwnTerm, kPeerTerm}),
       {}},
      {"unlink",
       {.kind = Kind::kUnlink, .from = from, .to = to, .id = 255},
       Frame({Number(35), Number(255), kOwnTerm, kPeerTerm}),
       {}},
      {"unlink, an integer",
       {.kind = Kind::kUnlink, .from = from, .to = to, .id = 0x7fffffff},
       Frame({Number(35), Bytes({98, 0x7f, 0xff, 0xff, 0xff}), kOwnTerm, kPeerTerm}),
       {}},
      {"unlink, a big integer",
       {.kind = Kind::kUnlink, .from = from, .to = to, .id = 0x80000000},
       Frame({Number(35), Bytes({110, 4, 0, 0, 0, 0, 0x80}), kOwnTerm, kPeerTerm}),
       {}},
      {"unlinked",
       {.kind = Kind::kUnlinkAck, .from = from, .to = to, .id = 0xfffffffffffffffe},
       Frame({Number(36), Bytes({110, 8, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
              kOwnTerm, kPeerTerm}),
       {}},
      {"exit",
       {.kind = Kind::kExit, .from = from, .to = to, .payload = kMessage},
       Frame({Number(24), kOwnTerm, kPeerTerm}, kMessage),
       Frame({Number(3), kOwnTerm, kPeerTerm, kMessage})},
      {"exit request",
       {.kind = Kind::kExitRequest, .from = from, .to = to, .payload = kMessage},
       Frame({Number(26), kOwnTerm, kPeerTerm}, kMessage),
       Frame({Number(8), kOwnTerm, kPeerTerm, kMessage})},
      {"monitor",
       {.kind = Kind::kMonitor, .from = from, .to = to, .ref = ref},
       Frame({Number(19), kOwnTerm, kPeerTerm, ref}),
       {}},
      {"monitor of a name",
       {.kind = Kind::kMonitor, .from = from, .name = "pool", .ref = ref},
       Frame({Number(19), kOwnTerm, AtomTerm("pool"), ref}),
       {}},
      {"monitor of the empty name",
       {.kind = Kind::kMonitor, .from = from, .ref = ref},
       Frame({Number(19), kOwnTerm, none, ref}),
       {}},
      {"demonitor",
       {.kind = Kind::kDemonitor, .from = from, .to = to, .ref = ref},
       Frame({Number(20), kOwnTerm, kPeerTerm, ref}),
       {}},
      {"demonitor of a name",
       {.kind = Kind::kDemonitor, .from = from, .name = "pool", .ref = ref},
       Frame({Number(20), kOwnTerm, AtomTerm("pool"), ref}),
       {}},
      {"down",
       {.kind = Kind::kDown, .from = from, .to = to, .ref = ref, .payload = kMessage},
       Frame({Number(28), kOwnTerm, kPeerTerm, ref}, kMessage),
       Frame({Number(21), kOwnTerm, kPeerTerm, ref, kMessage})},
      {"down of a name",
       {.kind = Kind::kDown, .to = to, .name = "pool", .ref = ref, .payload = kMessage},
       Frame({Number(28), AtomTerm("pool"), kPeerTerm, ref}, kMessage),
       Frame({Number(21), AtomTerm("pool"), kPeerTerm, ref, kMessage})},
      {"down of the empty name",
       {.kind = Kind::kDown, .to = to, .ref = ref, .payload = kMessage},
       Frame({Number(28), none, kPeerTerm, ref}, kMessage),
       Frame({Number(21), none, kPeerTerm, ref, kMessage})},
      {"spawn request",
       {.kind = Kind::kSpawnRequest,
        .from = from,
        .ref = ref,
        .payload = kList,
        .module = "lists",
        .function = "sum",
        .arity = 1},
       Frame({Number(29), ref, kOwnTerm, kOwnTerm,
              Tuple({AtomTerm("lists"), AtomTerm("sum"), Number(1)}), Bytes({106})},
             kList),
       {}},
      {"spawn request, with a link",
       {.kind = Kind::kSpawnRequest,
        .from = from,
        .ref = ref,
        .payload = kList,
        .module = "lists",
        .function = "sum",
        .arity = 1,
        .links = kLinked},
       Frame({Number(29), ref, kOwnTerm, kOwnTerm,
              Tuple({AtomTerm("lists"), AtomTerm("sum"), Number(1)}),
              Bytes({108, 0, 0, 0, 1}) + AtomTerm("link") + Bytes({106})},
             kList),
       {}},
      {"spawn request, with both",
       {.kind = Kind::kSpawnRequest,
        .from = from,
        .ref = ref,
        .payload = kList,
        .module = "m",
        .function = "f",
        .arity = 256,
        .links = kLinked | kMonitored},
       Frame({Number(29), ref, kOwnTerm, kOwnTerm,
              Tuple({AtomTerm("m"), AtomTerm("f"), Bytes({98, 0, 0, 1, 0})}),
              Bytes({108, 0, 0, 0, 2}) + AtomTerm("link") + AtomTerm("monitor") + Bytes({106})},
             kList),
       {}},
      {"spawn reply",
       {.kind = Kind::kSpawnReply,
        .from = from,
        .to = to,
        .ref = ref,
        .payload = kOwnTerm,
        .links = kMonitored},
       Frame({Number(31), ref, kPeerTerm, Number(2), kOwnTerm}),
       {}},
      {"spawn reply, refused",
       {.kind = Kind::kSpawnReply, .to = to, .ref = ref, .payload = kNotSupported},
       Frame({Number(31), ref, kPeerTerm, Number(0), AtomTerm("notsup")}),
       {}},
  };
}

TEST_CASE("signals: each, byte for byte, and back") {
  for (const Case& one : Cases()) {
    CAPTURE(one.name);
    for (const std::uint64_t flags : {kOwnFlags, kOldFlags}) {
      const std::string& frame = flags == kOldFlags && !one.older.empty() ? one.older : one.frame;
      std::string out = "before";
      AppendFrame(out, one.signal, flags);
      CHECK(out == "before" + WithLength(frame));
      // The peer reads it.
      const auto parsed = ParseFrame(frame, kReversed, kDepth);
      REQUIRE_MESSAGE(parsed.has_value(), parsed.error().ToString());
      Signal expected = one.signal;
      // The only thing that an older peer is not told.
      if (flags == kOldFlags && expected.kind == SignalKind::kSend) expected.from = {};
      CHECK(Fields(*parsed) == Fields(expected));
    }
  }
}

TEST_CASE("signals: frames one behind the other") {
  std::string out;
  AppendTick(out);
  CHECK(out == Bytes({0, 0, 0, 0}));
  std::string expected = out;
  for (const Case& one : Cases()) {
    AppendFrame(out, one.signal, kOwnFlags);
    AppendTick(out);
    expected += WithLength(one.frame) + Bytes({0, 0, 0, 0});
  }
  CHECK(out == expected);
  AppendFrame(out, Signal{}, kOwnFlags);
  CHECK(out == expected);
}

TEST_CASE("signals: a peer gets no monitors and spawn requests that it does not understand") {
  using Kind = SignalKind;
  for (const Case& one : Cases()) {
    CAPTURE(one.name);
    const Kind kind = one.signal.kind;
    const bool is_monitors =
        kind == Kind::kMonitor || kind == Kind::kDemonitor || kind == Kind::kDown;
    const auto is_written = [&](std::uint64_t without) {
      std::string out = "before";
      AppendFrame(out, one.signal, kOwnFlags & ~without);
      CHECK(out == (out.size() == 6 ? "before" : "before" + WithLength(one.frame)));
      return out.size() != 6;
    };
    CHECK(is_written(kFlagDistMonitor) == !is_monitors);
    CHECK(is_written(kFlagDistMonitorName) == !is_monitors);
    CHECK(is_written(kFlagsOfMonitors) == !is_monitors);
    CHECK(is_written(kFlagSpawn) == (kind != Kind::kSpawnRequest));
  }
}

TEST_CASE("signals: with a trace token they are the same, but for that") {
  using Kind = SignalKind;
  const std::string& own = kOwnTerm;
  const std::string& peer = kPeerTerm;
  const std::string none = AtomTerm("");
  const std::string function = Tuple({AtomTerm("m"), AtomTerm("f"), Number(1)});
  constexpr std::uint64_t kNoReasons = kOwnFlags & ~kFlagExitPayload;
  const struct {
    std::string frame;
    Signal signal;
    std::uint64_t flags = kOwnFlags;  // that it is written with
  } cases[] = {
      {Frame({Number(12), none, own, kToken}, kMessage),
       {.kind = Kind::kSend, .to = kOwnPid, .payload = kMessage}},
      {Frame({Number(13), peer, own, kToken, kMessage}),
       {.kind = Kind::kExit, .from = kPeerPid, .to = kOwnPid, .payload = kMessage},
       kNoReasons},
      {Frame({Number(16), peer, none, AtomTerm("pool"), kToken}, kMessage),
       {.kind = Kind::kSendToName, .from = kPeerPid, .name = "pool", .payload = kMessage}},
      {Frame({Number(18), peer, own, kToken, kMessage}),
       {.kind = Kind::kExitRequest, .from = kPeerPid, .to = kOwnPid, .payload = kMessage},
       kNoReasons},
      {Frame({Number(23), peer, own, kToken}, kMessage),
       {.kind = Kind::kSend, .from = kPeerPid, .to = kOwnPid, .payload = kMessage}},
      {Frame({Number(25), peer, own, kToken}, kMessage),
       {.kind = Kind::kExit, .from = kPeerPid, .to = kOwnPid, .payload = kMessage}},
      {Frame({Number(27), peer, own, kToken}, kMessage),
       {.kind = Kind::kExitRequest, .from = kPeerPid, .to = kOwnPid, .payload = kMessage}},
      {Frame({Number(30), kReference, peer, peer, function, Bytes({106}), kToken}, kList),
       {.kind = Kind::kSpawnRequest,
        .from = kPeerPid,
        .ref = kReference,
        .payload = kList,
        .module = "m",
        .function = "f",
        .arity = 1}},
      {Frame({Number(32), kReference, own, Number(1), peer, kToken}),
       {.kind = Kind::kSpawnReply,
        .from = kPeerPid,
        .to = kOwnPid,
        .ref = kReference,
        .payload = kPeerTerm,
        .links = kLinked}},
      {Frame({Number(34), peer, kReference, kToken}, kMessage),
       {.kind = Kind::kSendToAlias, .from = kPeerPid, .ref = kReference, .payload = kMessage}},
  };
  for (const auto& one : cases) {
    const auto parsed = ParseFrame(one.frame, kPeers, kDepth);
    REQUIRE_MESSAGE(parsed.has_value(), parsed.error().ToString());
    Signal expected = one.signal;
    expected.token = kToken;
    CHECK(Fields(*parsed) == Fields(expected));
    std::string out;
    AppendFrame(out, expected, one.flags);
    CHECK(out == WithLength(one.frame));
    CHECK(HasToken(out));
    // A node that takes no labels but small numbers gets none.
    std::string without;
    AppendFrame(without, expected, one.flags & ~kFlagBigTraceLabels);
    CHECK(!HasToken(without));
    out.clear();
    AppendFrame(out, one.signal, one.flags);
    CHECK(without == out);
  }
}

TEST_CASE("signals: what is no trace token is an error") {
  const auto tuple_with = [](std::size_t at, const std::string& element) {
    std::vector<std::string> elements = {Number(1), AtomTerm("label"), Number(2), kPeerTerm,
                                         Number(3)};
    elements[at] = element;
    return Tuple(elements);
  };
  const std::string negative = Bytes({98}) + Big(0xffffffff, 4);
  const std::string too_big = Bytes({110, 8, 0}) + Bytes({0, 0, 0, 0, 0, 0, 0, 8});  // 2^59
  for (const std::string& token :
       {AtomTerm("token"), Bytes({106}), Tuple({}),
        Tuple({Number(1), Number(2), Number(3), kPeerTerm}),
        Tuple({Number(1), Number(2), Number(3), kPeerTerm, Number(5), Number(6)}),
        tuple_with(0, AtomTerm("x")), tuple_with(2, kPeerTerm), tuple_with(4, Bytes({106}))}) {
    CHECK(ErrorOf(Frame({Number(23), kPeerTerm, kOwnTerm, token}, kMessage))
              .starts_with("operation 23: its element 4 cannot be "));
  }
  // Any integer, also one that nobody counts with, and any label.
  const std::string biggest = Bytes({110, 8, 0}) + Bytes({255, 255, 255, 255, 255, 255, 255, 7});
  for (const std::string& token :
       {tuple_with(0, biggest), tuple_with(2, biggest), tuple_with(4, biggest),
        tuple_with(0, negative), tuple_with(0, too_big), tuple_with(2, too_big),
        tuple_with(4, negative), tuple_with(1, kReference), tuple_with(1, negative),
        tuple_with(1, kList)}) {
    const std::string frame = Frame({Number(23), kPeerTerm, kOwnTerm, token}, kMessage);
    const auto parsed = ParseFrame(frame, kPeers, kDepth);
    REQUIRE(parsed.has_value());
    CHECK(parsed->token == token);
  }
}

TEST_CASE("signals: operations that are not known are told by their number") {
  for (const int number : {0, 4, 5, 7, 9, 10, 11, 14, 15, 17, 37, 255}) {
    CAPTURE(number);
    for (const std::string& frame :
         {Frame({Number(number)}), Frame({Number(number), AtomTerm("x")}, kMessage)}) {
      const auto parsed = ParseFrame(frame, kPeers, kDepth);
      REQUIRE(parsed.has_value());
      CHECK(parsed->kind == SignalKind::kUnknown);
      CHECK(parsed->id == static_cast<std::uint64_t>(number));
    }
  }
  const auto large = ParseFrame(Frame({Bytes({98, 0, 1, 0, 0})}), kPeers, kDepth);
  CHECK(large.value().id == 65536);
}

TEST_CASE("signals: cut off anywhere, they are errors") {
  for (const Case& one : Cases()) {
    CAPTURE(one.name);
    for (const std::string& frame : {one.frame, one.older}) {
      for (std::size_t size = 0; size < frame.size(); ++size) {
        // A copy of that size: what is read behind its end is noticed by a sanitizer.
        const std::vector<char> cut(frame.begin(),
                                    frame.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(ErrorOf({cut.data(), cut.size()}, kReversed).empty());
      }
      if (!frame.empty()) CHECK_FALSE(ErrorOf(frame + 'x', kReversed).empty());
    }
  }
}

TEST_CASE("signals: with any byte changed, they are other signals or errors") {
  std::mt19937 random(15);
  for (const Case& one : Cases()) {
    for (std::size_t i = 0; i < one.frame.size(); ++i) {
      for (int n = 0; n < 16; ++n) {
        std::string changed = one.frame;
        changed[i] = static_cast<char>(random());
        const auto parsed = ParseFrame(changed, kReversed, kDepth);
        if (!parsed) CHECK_FALSE(parsed.error().detail().empty());
      }
    }
  }
}

TEST_CASE("signals: nodes in any encoding of atoms") {
  for (const int tag : {100, 115, 118, 119}) {
    CAPTURE(tag);
    const auto parsed = ParseFrame(Frame({Number(1), PidTerm("peer@127.0.0.1", 1, 0, 8, tag),
                                          PidTerm("own@127.0.0.1", 2, 0, 7, tag)}),
                                   kPeers, kDepth);
    REQUIRE(parsed.has_value());
    CHECK(parsed->from == gen::PID{1, kPeer, 8});
    CHECK(parsed->to == gen::PID{2, kOwn, 7});
  }
}

TEST_CASE("signals: names in any encoding of atoms, if they are ASCII in the old ones") {
  const auto frame = [](int tag, std::string_view text) {
    const bool is_small = tag == 119 || tag == 115;
    return Frame({Number(6), kPeerTerm, AtomTerm(""),
                  Bytes({tag}) + Big(text.size(), is_small ? 1 : 2) + std::string(text)},
                 kMessage);
  };
  for (const int tag : {100, 115, 118, 119}) {
    CHECK(ParseFrame(frame(tag, "pool"), kPeers, kDepth).value().name == "pool");
  }
  std::string out;
  AppendFrame(
      out, {.kind = SignalKind::kSendToName, .from = kPeerPid, .name = "pool", .payload = kMessage},
      kOwnFlags);
  CHECK(out == WithLength(frame(119, "pool")));
  const std::string of_255(255, 'x');
  out.clear();
  AppendFrame(
      out, {.kind = SignalKind::kSendToName, .from = kPeerPid, .name = of_255, .payload = kMessage},
      kOwnFlags);
  CHECK(out == WithLength(frame(119, of_255)));
  // 255 characters of two bytes.
  std::string umlauts;
  for (int i = 0; i < 255; ++i) umlauts += "\xc3\xb6";
  out.clear();
  AppendFrame(
      out,
      {.kind = SignalKind::kSendToName, .from = kPeerPid, .name = umlauts, .payload = kMessage},
      kOwnFlags);
  CHECK(out == WithLength(frame(118, umlauts)));
  CHECK(ParseFrame(frame(118, umlauts), kPeers, kDepth).value().name == umlauts);
  for (const int tag : {100, 115}) {
    CHECK(ErrorOf(frame(tag, "p\xf6ol")).starts_with("operation 6: its element 4 cannot be "));
  }
}

TEST_CASE("signals: PIDs of other nodes") {
  const std::string other = PidTerm("other@127.0.0.1", 1, 0, 8);
  CHECK(ErrorOf(Frame({Number(1), other, kOwnTerm})) ==
        "operation 1: its element 2 cannot be a PID of 'other@127.0.0.1'");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, other}, kMessage)) ==
        "operation 22: its element 3 cannot be a PID of 'other@127.0.0.1'");
  // Neither may the two be the other way round.
  CHECK(ErrorOf(Frame({Number(1), kOwnTerm, kPeerTerm})) ==
        "operation 1: its element 2 cannot be a PID of 'own@127.0.0.1'");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, kPeerTerm}, kMessage)) ==
        "operation 22: its element 3 cannot be a PID of 'peer@127.0.0.1'");
  CHECK(ErrorOf(Frame({Number(28), kOwnTerm, kOwnTerm, kReference}, kMessage)) ==
        "operation 28: its element 2 cannot be a PID of 'own@127.0.0.1'");
}

TEST_CASE("signals: messages may be passed on") {
  const auto sender = [](const std::string& pid) {
    return ParseFrame(Frame({Number(22), pid, kOwnTerm}, kMessage), kPeers, kDepth).value().from;
  };
  CHECK(sender(kOwnTerm) == kOwnPid);
  CHECK(sender(PidTerm("nobody_knows@127.0.0.1", 1, 0, 8)) == gen::PID{1, {}, 8});
  CHECK_FALSE(gen::Atom::Find("nobody_knows@127.0.0.1").has_value());
  const gen::Atom third("third@127.0.0.1");
  CHECK(sender(PidTerm("third@127.0.0.1", 1, 2, 8)) ==
        gen::PID{std::uint64_t{2} << 32 | 1, third, 8});
  CHECK(sender(PidTerm("", 1, 2, 8)) == gen::PID{});
  CHECK(ErrorOf(Frame({Number(22), AtomTerm("x"), kOwnTerm}, kMessage)) ==
        "operation 22: its element 2 cannot be the atom 'x'");
}

TEST_CASE("signals: incarnations") {
  // Answered as unknown by whoever looks for it.
  const auto former =
      ParseFrame(Frame({Number(1), kPeerTerm, PidTerm("own@127.0.0.1", 5, 3, 6)}), kPeers, kDepth);
  CHECK(former.value().to.creation == 6);
  CHECK(ErrorOf(Frame({Number(1), kPeerTerm, PidTerm("own@127.0.0.1", 5, 3, 0)})) ==
        "operation 1: its element 3 cannot be a PID of the creation 0 or with a name that is not "
        "ASCII");
  // Erlang's process init.
  const auto init =
      ParseFrame(Frame({Number(1), PidTerm("peer@127.0.0.1", 0, 0, 8), kOwnTerm}), kPeers, kDepth);
  CHECK(init.value().from == gen::PID{0, kPeer, 8});
}

TEST_CASE("signals: a message that is one binary ends with its frame") {
  const auto frame = [](const std::string& term) {
    return Frame({Number(22), kPeerTerm, kOwnTerm}, term);
  };
  for (const std::string& binary :
       {Bytes({109, 0, 0, 0, 2}) + "ab", Bytes({109, 0, 0, 0, 0}),
        Bytes({77, 0, 0, 0, 2, 8}) + "ab", Bytes({77, 0, 0, 0, 2, 3}) + "a@"}) {
    CAPTURE(binary.size());
    CHECK(ParseFrame(frame(binary), kPeers, kDepth).value().payload == binary);
    CHECK(ErrorOf(frame(binary) + "x") == "1 bytes behind the message");
    CHECK(ErrorOf(frame(binary.substr(0, binary.size() - 1))).starts_with("message: no term: "));
  }
  CHECK(ErrorOf(frame(Bytes({109, 0xff, 0xff, 0xff, 0xff}) + "ab")).starts_with("message: "));
  CHECK(ErrorOf(frame(Bytes({77, 0, 0, 0, 0, 8}))).starts_with("message: "));
  CHECK(ErrorOf(frame(Bytes({77, 0, 0, 0, 2, 9}) + "ab")).starts_with("message: "));
}

TEST_CASE("signals: what is none") {
  CHECK(ErrorOf("") == "a frame of 0 bytes");
  CHECK(ErrorOf("p") == "a frame of 1 bytes");
  CHECK(ErrorOf(Bytes({131, 68, 0})) ==
        "a frame that begins with 131: this node understands 112 only");
  CHECK(ErrorOf(Bytes({112, 130, 104, 0})) == "control: begins with 130, not with the version 131");
  CHECK(ErrorOf(Bytes({112, 131, 104, 0})) ==
        "control: a tuple that begins with a number was expected, found nothing");
  CHECK(ErrorOf(Bytes({112, 131}) + kMessage) ==
        "control: a tuple that begins with a number was expected, found the atom 'hello'");
  CHECK(ErrorOf(Bytes({112, 131}) + Number(1)) ==
        "control: a tuple that begins with a number was expected, found the number 1");
  CHECK(ErrorOf(Frame({Bytes({98, 0xff, 0xff, 0xff, 0xff})})) ==
        "control: a tuple that begins with a number was expected, found a term with the tag 98");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm}, kMessage)) ==
        "operation 22: a tuple of 2 elements, 3 were expected");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, kOwnTerm, kToken}, kMessage)) ==
        "operation 22: a tuple of 4 elements, 3 were expected");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, kOwnTerm})) ==
        "operation 22: the second term is missing");
  CHECK(ErrorOf(Frame({Number(1), kPeerTerm, kOwnTerm}, kMessage)) ==
        "operation 1: a second term, where none belongs");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, kOwnTerm}, kMessage) + "xyz") ==
        "3 bytes behind the message");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, kOwnTerm}) + "x") ==
        "message: begins with 120, not with the version 131");
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, kOwnTerm}) + Bytes({131})).starts_with("message: "));
  CHECK(ErrorOf(Frame({Number(35), Number(0), kPeerTerm, kOwnTerm})) ==
        "operation 35: its element 2 cannot be the number 0");
  CHECK(ErrorOf(
            Frame({Number(35), Bytes({110, 9, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}), kPeerTerm, kOwnTerm}))
            .starts_with("operation 35: its element 2 cannot be a term with the tag 110"));
  CHECK(ErrorOf(Frame({Number(35), Bytes({110, 1, 1, 1}), kPeerTerm, kOwnTerm}))
            .starts_with("operation 35: its element 2 cannot be "));
  CHECK(ErrorOf(Frame({Number(19), kPeerTerm, kOwnTerm, Number(1)})) ==
        "operation 19: its element 4 cannot be the number 1");
  CHECK(ErrorOf(Frame({Number(31), kReference, kOwnTerm, Number(1), Number(2)})) ==
        "operation 31: its element 5 cannot be the number 2");
}

TEST_CASE("signals: terms that are nested too deeply") {
  const auto levels = [](std::size_t count) {
    std::string term;
    for (; count > 0; --count) term += Bytes({104, 1});
    return term + Number(1);
  };
  // What is around a value may have some levels of its own.
  const std::string too_deep = levels(kDepth + kLevelsAround + 1);
  CHECK(ErrorOf(Frame({Number(22), kPeerTerm, kOwnTerm}, too_deep)).starts_with("message: "));
  const std::string deep = levels(kDepth + 1);
  CHECK(ParseFrame(Frame({Number(22), kPeerTerm, kOwnTerm}, deep), kPeers, kDepth)->is_deep);
  CHECK(ErrorOf(Frame({Number(3), kPeerTerm, kOwnTerm, deep})).starts_with("control: "));
  CHECK(ErrorOf(Frame({Number(23), kPeerTerm, kOwnTerm, deep}, kMessage)).starts_with("control: "));
  // The signal's own levels are no value's.
  CHECK(ParseFrame(Frame({Number(22), kPeerTerm, kOwnTerm}, Number(1)), kPeers, 1));
  CHECK(
      ParseFrame(Frame({Number(3), kPeerTerm, kOwnTerm, levels(kLevelsOfControl - 1)}), kPeers, 1));
}

TEST_CASE("signals: options of a spawn request") {
  const auto request = [](const std::string& options) {
    return Frame({Number(29), kReference, kPeerTerm, PidTerm("third@127.0.0.1", 1, 0, 9),
                  Tuple({AtomTerm("m"), AtomTerm("f"), Number(0)}), options},
                 Bytes({106}));
  };
  const auto list = [](const std::vector<std::string>& elements) {
    std::string term = Bytes({108}) + Big(elements.size(), 4);
    for (const std::string& element : elements) term += element;
    return term + Bytes({106});
  };
  const auto links = [&](const std::string& options) {
    const std::string frame = request(options);
    const auto parsed = ParseFrame(frame, kPeers, kDepth);
    REQUIRE_MESSAGE(parsed.has_value(), parsed.error().ToString());
    CHECK(parsed->payload == Bytes({106}));
    CHECK(parsed->module == "m");
    return int{parsed->links};
  };
  CHECK(links(Bytes({106})) == 0);
  CHECK(links(list({AtomTerm("link")})) == kLinked);
  CHECK(links(list({AtomTerm("monitor"), AtomTerm("link")})) == (kLinked | kMonitored));
  CHECK(links(list({Tuple({AtomTerm("monitor"), Bytes({106})})})) == kMonitored);
  CHECK(links(list({Tuple({AtomTerm("priority"), AtomTerm("low")}), AtomTerm("monitor")})) ==
        kMonitored);
  CHECK(links(list({Tuple({AtomTerm("link"), AtomTerm("x")}), Tuple({}), Number(1)})) == 0);
  CHECK(links(Bytes({107, 0, 2, 1, 2})) == 0);
  CHECK(ErrorOf(request(AtomTerm("link"))).starts_with("operation 29: its element 6 cannot be "));
  std::string improper = list({AtomTerm("link")});
  improper.back() = 97;
  CHECK(ErrorOf(request(improper + Bytes({1}))).starts_with("operation 29: its element 6 "));
}

TEST_CASE("signals: functions that are none") {
  const auto error = [](const std::string& function) {
    return ErrorOf(Frame({Number(29), kReference, kPeerTerm, kPeerTerm, function, Bytes({106})},
                         Bytes({106})));
  };
  CHECK(error(Tuple({AtomTerm("m"), AtomTerm("f")})).starts_with("operation 29: its element 5 "));
  CHECK(error(Tuple({Number(1), AtomTerm("f"), Number(0)})).starts_with("operation 29: "));
  CHECK(error(Tuple({AtomTerm("m"), AtomTerm("f"), Bytes({98, 0xff, 0xff, 0xff, 0xff})}))
            .starts_with("operation 29: "));
  CHECK(error(Tuple({AtomTerm("m"), AtomTerm("f"), Bytes({110, 5, 0, 0, 0, 0, 0, 1})}))
            .starts_with("operation 29: "));
}

TEST_CASE("signals: long names of nodes and a payload of a megabyte fit") {
  const gen::Atom long_own(std::string(245, 'o') + "@127.0.0.1");
  const gen::Atom long_peer(std::string(245, 'p') + "@127.0.0.1");
  const std::string payload = Bytes({109}) + Big(1 << 20, 4) + std::string(1 << 20, 'x');
  const Signal signal{.kind = SignalKind::kSend,
                      .from = {1, long_own, 7},
                      .to = {2, long_peer, 8},
                      .payload = payload};
  std::string out;
  AppendFrame(out, signal, kOwnFlags);
  const auto parsed = ParseFrame(std::string_view(out).substr(4), {long_peer, long_own}, kDepth);
  REQUIRE(parsed.has_value());
  CHECK(Fields(*parsed) == Fields(signal));
  CHECK(out.substr(0, 4) == Big(out.size() - 4, 4));
}

TEST_CASE("signals: a message whose payload comes later has the same frame") {
  const auto check = [](const Signal& signal, auto open) {
    std::string whole = "before";
    AppendFrame(whole, signal, kOwnFlags);
    std::string opened = "before";
    open(opened);
    opened += signal.payload;
    CloseFrame(opened, 6);
    CHECK(opened == whole);
  };
  check({.kind = SignalKind::kSend, .from = kOwnPid, .to = kPeerPid, .payload = kMessage},
        [](std::string& out) { OpenMessage(out, kOwnPid, kPeerPid); });
  check({.kind = SignalKind::kSend, .to = kPeerPid, .payload = kMessage},
        [](std::string& out) { OpenMessage(out, {}, kPeerPid); });
  const std::string name(255, 'n');
  check({.kind = SignalKind::kSendToName, .from = kOwnPid, .name = name, .payload = kMessage},
        [&](std::string& out) { OpenMessageToName(out, kOwnPid, name); });
  const std::string alias = terms::Reference("peer@h", 9, {1, 2, 3, 4, 5});
  check({.kind = SignalKind::kSendToAlias, .from = kOwnPid, .ref = alias, .payload = kMessage},
        [&](std::string& out) { OpenMessageToAlias(out, kOwnPid, alias); });
}

TEST_CASE("signals: a frame makes the string grow once, and only now and then") {
  std::string out;
  std::size_t growths = 0;
  const Signal signal{
      .kind = SignalKind::kSend, .from = kOwnPid, .to = kPeerPid, .payload = kMessage};
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t before = out.capacity();
    AppendFrame(out, signal, kOwnFlags);
    if (out.capacity() != before) ++growths;
  }
  CHECK(growths < 32);
}

}  // namespace
}  // namespace ergon::dist::signals_test
