#include <ergon/gen/result.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Error(ErrorCode::kIncorrect, "number: odd");
  return number / 2;
}

Result<void> CheckEven(int number) {
  if (number % 2 != 0) return ErrIncorrect;
  return {};
}

TEST_CASE("result: a value") {
  Result<int> result = Half(8);
  REQUIRE(result);
  CHECK(*result == 4);
  CHECK(result.value() == 4);
  result.value() = 5;
  CHECK(std::as_const(result).value() == 5);
  CHECK(result.value_or(0) == 5);
}

TEST_CASE("result: an error") {
  const Result<int> result = Half(7);
  REQUIRE_FALSE(result);
  CHECK(result.error() == ErrIncorrect);
  CHECK(result.error().detail() == "number: odd");
  CHECK(result.value_or(3) == 3);
}

TEST_CASE("result: value() throws the error's text") {
  CHECK_THROWS_WITH_AS((void)Half(7).value(), "incorrect value: number: odd", BadResult);
  const Result<int> constant = Half(7);
  CHECK_THROWS_AS((void)constant.value(), BadResult);
  Result<int> result = Half(7);
  try {
    (void)result.value();
    FAIL("no exception");
  } catch (const BadResult& bad) {
    CHECK(bad.error() == ErrIncorrect);
    CHECK(bad.error().detail() == "number: odd");
  }
}

TEST_CASE("result: error() of a success is a mistake that shows") {
  CHECK_THROWS_AS((void)Half(8).error(), std::logic_error);
  CHECK_THROWS_AS((void)CheckEven(8).error(), std::logic_error);
  const Result<int> result = Half(8);
  CHECK_THROWS_AS((void)result.error(), std::logic_error);
}

TEST_CASE("result: of nothing") {
  CHECK(CheckEven(2));
  CheckEven(2).value();
  CHECK_FALSE(CheckEven(3));
  CHECK_THROWS_WITH_AS(CheckEven(3).value(), "incorrect value", BadResult);
  CHECK(Result<void>());
}

TEST_CASE("result: move-only values") {
  auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(3); };
  const std::unique_ptr<int> pointer = make().value();
  CHECK(*pointer == 3);
  static_assert(std::is_same_v<decltype(make().value()), std::unique_ptr<int>&&>);
}

TEST_CASE("result: values that errors could be mistaken for") {
  const Result<std::string> text = std::string("text");
  CHECK(text.value() == "text");
  const Result<bool> no = false;
  REQUIRE(no.has_value());
  CHECK_FALSE(no.value());
  const Result<int> code = Error("text");
  CHECK(code.error().code() == ErrorCode::kApplication);
}

TEST_CASE("result: passed on") {
  auto quarter = [](int number) -> Result<int> {
    Result<int> half = Half(number);
    if (!half) return std::move(half.error());
    return Half(*half);
  };
  CHECK(quarter(12).value() == 3);
  CHECK(quarter(6).error() == ErrIncorrect);
  CHECK(Half(12).map([](int number) { return number + 1; }).value() == 7);
}

}  // namespace
}  // namespace ergon::gen
