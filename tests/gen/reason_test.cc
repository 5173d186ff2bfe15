#include <ergon/gen/reason.h>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

TEST_CASE("reason: normal from the start") {
  const Reason reason;
  CHECK(reason.kind() == ReasonKind::kNormal);
  CHECK(reason.IsNormal());
  CHECK(reason == Reason::Normal());
  CHECK(reason.ToString() == "normal");
}

TEST_CASE("reason: kinds and texts") {
  CHECK(Reason::Shutdown().kind() == ReasonKind::kShutdown);
  CHECK(Reason::Shutdown().ToString() == "shutdown");
  CHECK(Reason::Kill().kind() == ReasonKind::kKill);
  CHECK(Reason::Kill().ToString() == "killed");
  CHECK(Reason::NoProcess().kind() == ReasonKind::kNoProcess);
  CHECK(Reason::NoProcess().ToString() == "noproc");
  CHECK(Reason::NoConnection().kind() == ReasonKind::kNoConnection);
  CHECK(Reason::NoConnection().ToString() == "noconnection");
  CHECK(Reason::Unregistered().kind() == ReasonKind::kUnregistered);
  CHECK(Reason::Unregistered().ToString() == "unregistered");
  CHECK(Reason::Panic("out of range").kind() == ReasonKind::kPanic);
  CHECK(Reason::Panic("out of range").ToString() == "panic: out of range");
  CHECK(Reason::Error("disk is full").kind() == ReasonKind::kError);
  CHECK(Reason::Error("disk is full").ToString() == "disk is full");
  CHECK(fmt::format("{}", Reason::Kill()) == "killed");
}

TEST_CASE("reason: what is a failure") {
  CHECK_FALSE(Reason::Normal().IsFailure());
  CHECK_FALSE(Reason::Shutdown().IsFailure());
  CHECK(Reason::Kill().IsFailure());
  CHECK(Reason::NoProcess().IsFailure());
  CHECK(Reason::NoConnection().IsFailure());
  CHECK(Reason::Panic("").IsFailure());
  CHECK(Reason::Error("").IsFailure());
  CHECK_FALSE(Reason::Shutdown().IsNormal());
}

TEST_CASE("reason: equal when kind and text are") {
  CHECK(Reason::Shutdown() == Reason::Shutdown());
  CHECK(Reason::Shutdown() != Reason::Normal());
  CHECK(Reason::Error("a") == Reason::Error("a"));
  CHECK(Reason::Error("a") != Reason::Error("b"));
  CHECK(Reason::Error("a") != Reason::Panic("a"));
  // A text of the user's own does not make it another kind.
  CHECK(Reason::Error("normal") != Reason::Normal());
  CHECK(Reason::Error("normal").IsFailure());
}

}  // namespace
}  // namespace ergon::gen
