// What of a peer has to wait that does not take what it has asked for.
#include <ergon/node/dist/read_hold.h>

#include <string>

#include <doctest/doctest.h>

#include <dist/terms.h>

namespace ergon::dist {

TEST_CASE("read hold: it holds from the bound on, and a little less with each pause") {
  ReadHold hold(1000);
  CHECK_FALSE(hold.Holds(999));
  CHECK(hold.Holds(1000));
  hold.Widen();
  CHECK_FALSE(hold.Holds(1249));
  CHECK(hold.Holds(1250));
  for (int pause = 0; pause < 1000; ++pause) hold.Widen();
  CHECK_FALSE(hold.Holds(3999));
  CHECK(hold.Holds(4000));
  // There is room again: it begins anew.
  CHECK_FALSE(hold.Holds(999));
  CHECK(hold.Holds(1000));
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
