// What a call gets from the answer that has come.
#include <ergon/gen/response.h>

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <ergon/gen/envelope_kind.h>

namespace ergon::gen {
namespace {

template <class R, class T>
Result<R> Taken(T value) {
  const core::EnvelopePtr response = detail::MakeResponse(std::move(value));
  Response view(*response);
  return view.Take<R>();
}

}  // namespace

TEST_CASE("response: its value, or words about another type") {
  CHECK(Taken<std::string>(std::string("text")).value() == "text");
  CHECK(Taken<int>(7).value() == 7);
  const auto other = Taken<double>(7);
  CHECK(other.error() == ErrUnexpectedType);
  CHECK(other.error().detail() == "asked for double, got int");
  const core::EnvelopePtr failed = detail::MakeErrorResponse(ErrTimeout);
  CHECK(Response(*failed).Take<int>().error() == ErrTimeout);
}

TEST_CASE("response: an error is no answer, however one asks") {
  CHECK(Taken<int>(Error("no stock")).error().detail() == "no stock");
  const core::EnvelopePtr failed = detail::MakeResponse(Error("no stock"));
  CHECK(failed->kind == static_cast<std::uint8_t>(EnvelopeKind::kError));
  CHECK_FALSE(Response(*failed).ok());
}

TEST_CASE("response: a number of 64 bits is any integer that holds it") {
  CHECK(Taken<int>(std::int64_t{-7}).value() == -7);
  CHECK(Taken<std::size_t>(std::int64_t{7}).value() == 7);
  CHECK(Taken<unsigned long long>(INT64_MAX).value() == INT64_MAX);
  CHECK(Taken<std::int8_t>(std::int64_t{-128}).value() == -128);
  CHECK(Taken<std::uint8_t>(std::int64_t{255}).value() == 255);
  CHECK(Taken<std::int64_t>(INT64_MIN).value() == INT64_MIN);
  CHECK(Taken<int>(std::int64_t{5'000'000'000}).error().detail() ==
        "asked for int, got 5000000000");
  CHECK(Taken<std::int8_t>(std::int64_t{128}).error() == ErrUnexpectedType);
  CHECK(Taken<std::int8_t>(std::int64_t{-129}).error() == ErrUnexpectedType);
  CHECK(Taken<std::uint8_t>(std::int64_t{256}).error() == ErrUnexpectedType);
  CHECK(Taken<unsigned>(std::int64_t{-1}).error() == ErrUnexpectedType);
  CHECK(Taken<unsigned long long>(std::int64_t{-1}).error() == ErrUnexpectedType);
  CHECK(Taken<std::int64_t>(7).error() == ErrUnexpectedType);
  CHECK(Taken<bool>(std::int64_t{1}).error() == ErrUnexpectedType);
  CHECK(Taken<double>(std::int64_t{1}).error() == ErrUnexpectedType);
}

}  // namespace ergon::gen
