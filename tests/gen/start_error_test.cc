#include <ergon/gen/host/start_error.h>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

TEST_CASE("start error: as a reason it says all, with the code where the detail alone does not") {
  CHECK(StartErrorText(Error(ErrorCode::kTaken, "'printer'")) == "name is taken: 'printer'");
  CHECK(StartErrorText(Error(ErrorCode::kProcessTerminated, "panic: no")) == "panic: no");
  CHECK(StartErrorText(Error(ErrorCode::kTimeout, "Init takes long")) == "Init takes long");
  CHECK(StartErrorText(Error(ErrorCode::kIncorrect, "size: -1")) == "size: -1");
  CHECK(StartErrorText(ErrTimeout) == "timed out");
}

TEST_CASE("start error: as an error it keeps the code, and does not say it twice") {
  const Error taken = StartErrorOf("child 'printer'", Error(ErrorCode::kTaken, "'printer'"));
  CHECK(taken == ErrTaken);
  CHECK(taken.ToString() == "name is taken: child 'printer': 'printer'");
  CHECK(StartErrorOf("worker 1 of 2", ErrNodeTerminated).detail() ==
        "worker 1 of 2: node terminated");
}

}  // namespace
}  // namespace ergon::gen
