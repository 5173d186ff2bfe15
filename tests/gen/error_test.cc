#include <ergon/gen/error.h>

#include <set>
#include <string>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

TEST_CASE("error: the library's own are compared by code, not by detail") {
  const Error full(ErrorCode::kProcessMailboxFull, "of the printer");
  CHECK(full == ErrProcessMailboxFull);
  CHECK(full != ErrTimeout);
  CHECK(full.code() == ErrorCode::kProcessMailboxFull);
  CHECK(full.detail() == "of the printer");
  CHECK(ErrProcessMailboxFull.detail() == "");
}

TEST_CASE("error: as text") {
  CHECK(ErrProcessMailboxFull.ToString() == "process mailbox is full");
  CHECK(Error(ErrorCode::kProcessTerminated, "panic: division by zero").ToString() ==
        "process terminated: panic: division by zero");
  CHECK(fmt::format("<{}> <{:>12}>", ErrTimeout, ErrTimeout) == "<timed out> <   timed out>");
}

TEST_CASE("error: the user's own") {
  const Error own("no such account");
  CHECK(own.code() == ErrorCode::kApplication);
  CHECK(own.ToString() == "no such account");
  CHECK(own == Error("no such account"));
  CHECK(own != Error("another text"));
  CHECK(own != ErrTimeout);
  CHECK(Error(Atom("busy")) == Error(Atom("busy")));
  CHECK(Error(Atom("busy")) != Error(Atom("late")));
}

TEST_CASE("error: each code has a text of its own") {
  std::set<std::string> texts;
  constexpr int kCodes = static_cast<int>(ErrorCode::kBusy) + 1;  // the last one
  for (int i = 0; i < kCodes; ++i) texts.insert(Error(static_cast<ErrorCode>(i)).ToString());
  CHECK(texts.size() == kCodes);
  CHECK(texts.count("unknown error") == 0);
}

TEST_CASE("error: the constants") {
  CHECK(ErrProcessUnknown.code() == ErrorCode::kProcessUnknown);
  CHECK(ErrProcessTerminated.code() == ErrorCode::kProcessTerminated);
  CHECK(ErrProcessIncarnation.code() == ErrorCode::kProcessIncarnation);
  CHECK(ErrNotAllowed.code() == ErrorCode::kNotAllowed);
  CHECK(ErrTaken.code() == ErrorCode::kTaken);
  CHECK(ErrIncorrect.code() == ErrorCode::kIncorrect);
  CHECK(ErrUnsupported.code() == ErrorCode::kUnsupported);
  CHECK(ErrResponseIgnored.code() == ErrorCode::kResponseIgnored);
  CHECK(ErrUnexpectedType.code() == ErrorCode::kUnexpectedType);
  CHECK(ErrTooManyCalls.code() == ErrorCode::kTooManyCalls);
  CHECK(ErrNodeTerminated.code() == ErrorCode::kNodeTerminated);
  CHECK(ErrNoConnection.code() == ErrorCode::kNoConnection);
  CHECK(ErrDeadlock.code() == ErrorCode::kDeadlock);
}

TEST_CASE("error: copies share the detail") {
  Error first(ErrorCode::kIncorrect, "workers: -1");
  const Error second = first;
  CHECK(second.detail().data() == first.detail().data());
  first = ErrTimeout;
  CHECK(second.ToString() == "incorrect value: workers: -1");
}

TEST_CASE("error: an overload says when to try again") {
  const Error error = Error::Overloaded(std::chrono::milliseconds(35));
  CHECK(error == ErrOverloaded);
  CHECK(error.RetryAfter() == std::chrono::milliseconds(35));
  CHECK(error.ToString() == "pool is overloaded: retry after 35 ms");
  CHECK(ErrTimeout.RetryAfter().count() == 0);
  CHECK(Error::Overloaded(std::chrono::milliseconds(1500)).detail() == "retry after 1.5 s");
}

}  // namespace
}  // namespace ergon::gen
