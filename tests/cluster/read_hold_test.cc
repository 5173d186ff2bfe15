// What of a peer has to wait that does not take what it has asked for.
#include <ergon/node/cluster/connection/read_hold.h>

#include <string>

#include <doctest/doctest.h>

#include <cluster/terms.h>

namespace ergon::dist {

TEST_CASE("read hold: frames are put aside, as many as have room, and come back in their order") {
  const auto frame = [](std::uint32_t number) {
    std::string bytes = terms::Big(6, 4) + terms::Big(number, 6);
    return bytes;
  };
  ReadHold hold(50);  // 100 bytes: ten frames
  const gen::PID from{1, "a@b", 1};
  const gen::PID other{2, "a@b", 1};
  std::uint32_t put = 0;
  std::uint32_t taken = 0;
  for (int round = 0; round < 20; ++round) {
    while (hold.Put(frame(put), from)) ++put;
    CHECK(put - taken == 10);
    const Signal message{.kind = SignalKind::kSend, .from = from, .payload = "a\1"};
    CHECK(hold.IsFor(message, 10));
    CHECK_FALSE(hold.IsFor({.kind = SignalKind::kSend, .from = other, .payload = "a\1"}, 10));
    CHECK(hold.IsFor({.kind = SignalKind::kLink, .from = other}, 10));
    const int left = round % 2 == 0 ? 3 : 0;
    while (static_cast<int>(put - taken) > left) {
      CHECK(hold.First() == frame(taken));
      hold.RemoveFirst();
      ++taken;
    }
    CHECK(hold.IsEmpty() == (left == 0));
    CHECK(hold.IsFor(message, 10) == (left != 0));
  }
}

TEST_CASE("read hold: what was refused is not looked at again before there is room for it") {
  const auto frame = [](std::size_t size) { return terms::Big(size, 4) + std::string(size, 'x'); };
  ReadHold hold(50);  // 100 bytes
  const gen::PID from{1, "a@b", 1};
  for (int i = 0; i < 10; ++i) REQUIRE(hold.Put(frame(6), from));
  REQUIRE_FALSE(hold.Put(frame(26), from));
  for (int i = 0; i < 2; ++i) {
    hold.RemoveFirst();
    CHECK_FALSE(hold.HasRoomForRefused());
  }
  hold.RemoveFirst();
  CHECK(hold.HasRoomForRefused());
  // One that never fits is handled when nothing is put aside.
  REQUIRE_FALSE(hold.Put(frame(200), from));
  for (; !hold.IsEmpty(); hold.RemoveFirst()) CHECK_FALSE(hold.HasRoomForRefused());
  CHECK(hold.HasRoomForRefused());
}

TEST_CASE(
    "read hold: the end of a process by its name does not overtake what the process has sent") {
  ReadHold hold(50);
  const gen::PID from{1, "a@b", 1};
  const gen::PID other{2, "a@b", 1};
  const Signal named{.kind = SignalKind::kDown, .name = "prices", .payload = "a\1"};
  const auto end_of = [](gen::PID pid) {
    return Signal{.kind = SignalKind::kDown, .from = pid, .payload = "a\1"};
  };
  CHECK_FALSE(hold.IsFor(named, 10));
  REQUIRE(hold.Put(terms::Big(6, 4) + terms::Big(1, 6), from));
  CHECK(hold.IsFor(named, 10));
  CHECK(hold.IsFor(end_of(from), 10));
  CHECK_FALSE(hold.IsFor(end_of(other), 10));
  hold.RemoveFirst();
  CHECK_FALSE(hold.IsFor(named, 10));
}

TEST_CASE("read hold: a message whose sender is not named may be of one whose signals wait") {
  ReadHold hold(50);
  const Signal unnamed{.kind = SignalKind::kSend, .payload = "a\1"};
  CHECK_FALSE(hold.IsFor(unnamed, 10));
  REQUIRE(hold.Put(terms::Big(6, 4) + terms::Big(1, 6), gen::PID{1, "a@b", 1}));
  CHECK(hold.IsFor(unnamed, 10));
  hold.RemoveFirst();
  CHECK_FALSE(hold.IsFor(unnamed, 10));
}

TEST_CASE("read hold: frames of all sizes come back in their order, and count until then") {
  constexpr std::size_t kBound = 256 * 1024;
  const auto frame = [](std::uint32_t number) {
    // Some are larger than what a block has, most are small.
    const std::size_t size = number % 7 == 0 ? 70'000 : 5 + number % 50;
    return terms::Big(size, 4) + std::string(size, static_cast<char>('a' + number % 26));
  };
  ReadHold hold(kBound);
  const gen::PID from{1, "a@b", 1};
  std::uint32_t put = 0;
  std::uint32_t taken = 0;
  std::size_t bytes = 0;
  for (int round = 0; round < 50; ++round) {
    for (; hold.Put(frame(put), from); ++put) bytes += frame(put).size();
    CHECK(bytes <= ReadHold::kMostTimes * kBound);
    CHECK(bytes + frame(put).size() > ReadHold::kMostTimes * kBound);
    for (int left = round % 5 + 1; left != 0; --left, ++taken) {
      CHECK(hold.First() == frame(taken));
      bytes -= hold.First().size();
      hold.RemoveFirst();
    }
  }
  for (; taken != put; ++taken) {
    CHECK(hold.First() == frame(taken));
    hold.RemoveFirst();
  }
  CHECK(hold.IsEmpty());
}

TEST_CASE("read hold: a sender is forgotten with its last frame, though others' never end") {
  const auto frame = [] { return terms::Big(6, 4) + terms::Big(0, 6); };
  ReadHold hold(50);
  const auto message = [](std::uint64_t sender) {
    return Signal{.kind = SignalKind::kSend, .from = {sender, "a@b", 1}, .payload = "a\1"};
  };
  for (std::uint64_t sender = 1; sender <= 1000; ++sender) {
    REQUIRE(hold.Put(frame(), message(sender).from));
    REQUIRE(hold.Put(frame(), message(sender).from));
    CHECK(hold.IsFor(message(sender), 10));
    if (sender < 3) continue;
    hold.RemoveFirst();
    CHECK(hold.IsFor(message(sender - 2), 10));
    hold.RemoveFirst();
    CHECK_FALSE(hold.IsFor(message(sender - 2), 10));
    CHECK(hold.Senders() == 2);
  }
}

TEST_CASE("read hold: messages and what the peer tells go on, and what may be answered does not") {
  using terms::SmallAtom;
  using terms::Tuple;
  const auto may_be = [](SignalKind kind, const std::string& payload = terms::Small(1),
                         std::string_view name = {}) {
    return MayBeAnswered({.kind = kind, .name = name, .payload = payload}, 10);
  };
  for (const SignalKind kind : {SignalKind::kLink, SignalKind::kUnlink, SignalKind::kExitRequest,
                                SignalKind::kMonitor, SignalKind::kSpawnRequest}) {
    CHECK(may_be(kind));
  }
  for (const SignalKind kind : {SignalKind::kUnlinkAck, SignalKind::kExit, SignalKind::kDemonitor,
                                SignalKind::kDown, SignalKind::kSpawnReply, SignalKind::kUnknown}) {
    CHECK_FALSE(may_be(kind));
  }
  const std::string request = Tuple({SmallAtom("$gen_call"), terms::kNil, terms::kNil});
  const std::string answer = Tuple({terms::Reference("a@b", 1, {1, 2, 3}), SmallAtom("ok")});
  const std::string other = Tuple({SmallAtom("line"), terms::Small(1)});
  for (const SignalKind kind :
       {SignalKind::kSend, SignalKind::kSendToAlias, SignalKind::kSendToName}) {
    CHECK(may_be(kind, request, "words"));
    CHECK(may_be(kind, Tuple({SmallAtom("system"), terms::kNil, terms::kNil}), "words"));
    CHECK(may_be(kind, Tuple({SmallAtom("discover"), terms::kNil}), "pg"));
    CHECK_FALSE(may_be(kind, answer, "words"));
    CHECK_FALSE(may_be(kind, other, "words"));
    CHECK_FALSE(may_be(kind, terms::Small(1), "words"));
  }
  CHECK(may_be(SignalKind::kSendToName, other, "$ergon"));
}

}  // namespace ergon::dist
