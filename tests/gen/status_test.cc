#include <ergon/gen/status.h>

#include <string>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

EnvelopeKind KindOf(CallResult& result) {
  return static_cast<EnvelopeKind>(result.response()->kind);
}

TEST_CASE("status: go on or stop") {
  CHECK_FALSE(Continue().stops());
  CHECK_FALSE(Status().stops());
  const Status status = Stop(Reason::Error("enough"));
  CHECK(status.stops());
  CHECK(status.reason() == Reason::Error("enough"));
}

TEST_CASE("status: a reply") {
  CallResult result = Reply(42);
  REQUIRE(result.response());
  CHECK(KindOf(result) == EnvelopeKind::kResponse);
  CHECK(result.response()->lane == core::Lane::kMain);
  CHECK(*result.response()->ValueAs<int>() == 42);
  CHECK_FALSE(result.status().stops());
}

TEST_CASE("status: a text literal is answered as a string") {
  CallResult result = Reply("done");
  REQUIRE(result.response()->ValueAs<std::string>() != nullptr);
  CHECK(*result.response()->ValueAs<std::string>() == "done");
  std::string text = "kept";
  CallResult copied = Reply(text);
  CHECK(*copied.response()->ValueAs<std::string>() == "kept");
  CHECK(text == "kept");
}

TEST_CASE("status: an error as the answer") {
  CallResult result = ReplyError(ErrTimeout);
  CHECK(KindOf(result) == EnvelopeKind::kError);
  REQUIRE(result.response()->ValueAs<Error>() != nullptr);
  CHECK(*result.response()->ValueAs<Error>() == ErrTimeout);
  CHECK_FALSE(result.status().stops());
}

TEST_CASE("status: a result as the answer, by its value or its error") {
  CallResult value = Reply(Result<int>(5));
  REQUIRE(value.response() != nullptr);
  CHECK(*value.response()->ValueAs<int>() == 5);
  const gen::Result<std::string> failed = gen::ErrBusy;
  CallResult error = Reply(failed);
  REQUIRE(error.response()->ValueAs<gen::Error>() != nullptr);
  CHECK(*error.response()->ValueAs<gen::Error>() == gen::ErrBusy);
  CHECK(error.response()->kind == gen::ReplyError(gen::ErrBusy).response()->kind);
}

TEST_CASE("status: an error as the reason to stop") {
  const Error error(ErrorCode::kTimeout, "no token");
  const Status stop = Stop(error);
  REQUIRE(stop.stops());
  CHECK(stop.reason() == Reason::Error(error.ToString()));
}

TEST_CASE("status: no reply") {
  CallResult result = NoReply();
  CHECK_FALSE(result.response());
  CHECK_FALSE(result.status().stops());
}

TEST_CASE("status: stopping instead of an answer, and after it") {
  CallResult stop = Stop(Reason::Shutdown());
  CHECK_FALSE(stop.response());
  CHECK(stop.status().stops());
  CHECK(stop.status().reason() == Reason::Shutdown());

  CallResult both = ReplyAndStop(1, Reason::Normal());
  CHECK(*both.response()->ValueAs<int>() == 1);
  CHECK(both.status().stops());
  CHECK(both.status().reason().IsNormal());
}

}  // namespace
}  // namespace ergon::gen
