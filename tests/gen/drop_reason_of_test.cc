#include <ergon/gen/host/drop_reason_of.h>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

// So that a new code is thought of where the reasons are chosen.
TEST_CASE("drop reason: each error of a send has one") {
  const auto reason_of = [](ErrorCode code) { return DropReasonOf(Error(code)); };
  CHECK(reason_of(ErrorCode::kProcessMailboxFull) == DropReason::kMailboxFull);
  CHECK(reason_of(ErrorCode::kOverloaded) == DropReason::kMailboxFull);
  CHECK(reason_of(ErrorCode::kTooManyCalls) == DropReason::kMailboxFull);
  CHECK(reason_of(ErrorCode::kBusy) == DropReason::kMailboxFull);
  CHECK(reason_of(ErrorCode::kNoConnection) == DropReason::kNoConnection);
  CHECK(reason_of(ErrorCode::kUnsupported) == DropReason::kUnreadable);
  CHECK(reason_of(ErrorCode::kIncorrect) == DropReason::kUnreadable);
  CHECK(reason_of(ErrorCode::kInternal) == DropReason::kFailed);
  CHECK(reason_of(ErrorCode::kProcessTerminated) == DropReason::kTerminated);
  CHECK(reason_of(ErrorCode::kNodeTerminated) == DropReason::kTerminated);
}

TEST_CASE("drop reason: who has ended was no receiver") {
  int ended = 0;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kBusy); ++code) {
    const Error error(static_cast<ErrorCode>(code));
    if (!HasReceiverEnded(error)) continue;
    ++ended;
    CHECK(DropReasonOf(error) == DropReason::kTerminated);
  }
  CHECK(ended == 3);
  CHECK(HasReceiverEnded(Error(ErrorCode::kProcessUnknown, "no process named \"a\"")));
  CHECK_FALSE(HasReceiverEnded(ErrNoConnection));  // it may live on
  CHECK_FALSE(HasReceiverEnded(ErrTimeout));
}

}  // namespace
}  // namespace ergon::gen
