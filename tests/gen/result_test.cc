#include <ergon/gen/result.h>

#include <iterator>
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
  const std::unique_ptr<int> other = *make();
  CHECK(*other == 3);
  Result<std::unique_ptr<int>> kept = make();
  CHECK(**kept == 3);
  CHECK(*std::move(kept).value() == 3);
}

TEST_CASE("result: the value of a temporary is the caller's, also in a range-based for") {
  struct Noisy {  // tells whether it is looked at after its end
    explicit Noisy(bool& flag) : gone(&flag) {}
    Noisy(Noisy&& other) noexcept : gone(std::exchange(other.gone, nullptr)) {}
    Noisy& operator=(Noisy&&) = delete;
    ~Noisy() {
      if (gone != nullptr) *gone = true;
    }
    bool* gone;
    int items[3] = {1, 2, 3};
    const int* begin() const { return std::begin(items); }
    const int* end() const { return std::end(items); }
  };
  bool gone = false;
  auto make = [&gone]() -> Result<Noisy> { return Noisy(gone); };
  int sum = 0;
  for (const int item : make().value()) {
    CHECK_FALSE(gone);
    sum += item;
  }
  CHECK(gone);
  gone = false;
  for (const int item : *make()) {
    CHECK_FALSE(gone);
    sum += item;
  }
  CHECK(gone);
  CHECK(sum == 12);
  const Error& error = Half(7).error();
  CHECK(error.detail() == "number: odd");
  static_assert(std::is_same_v<decltype(make().value()), Noisy>);
  static_assert(std::is_same_v<decltype(*make()), Noisy>);
  static_assert(std::is_same_v<decltype(Half(7).error()), Error>);
  static_assert(std::is_same_v<decltype(CheckEven(7).error()), Error>);
}

TEST_CASE("result: `*` and `->` of an error throw as value() does") {
  Result<std::string> result = Error(ErrorCode::kIncorrect, "number: odd");
  const char* const text = "incorrect value: number: odd";
  CHECK_THROWS_WITH_AS((void)*result, text, BadResult);
  CHECK_THROWS_WITH_AS((void)*std::as_const(result), text, BadResult);
  CHECK_THROWS_WITH_AS((void)result->size(), text, BadResult);
  CHECK_THROWS_WITH_AS((void)std::as_const(result)->size(), text, BadResult);
  CHECK_THROWS_WITH_AS((void)*std::move(result), text, BadResult);
  result = std::string("four");
  CHECK(result->size() == 4);
  CHECK(std::as_const(result)->size() == 4);
}

TEST_CASE("result: what the value's move constructor throws can be caught, and nothing is lost") {
  struct Fragile {
    explicit Fragile(bool throws_in) : throws(throws_in) {}
    Fragile(Fragile&& other) noexcept(false) : throws(other.throws), text(std::move(other.text)) {
      if (throws) throw std::runtime_error("broken on the way");
    }
    bool throws;
    std::string text = "a text that is too long to be kept in place";
  };
  Result<Fragile> sound(tl::in_place, false);
  const Result<Fragile> moved(std::move(sound));
  CHECK(moved.value().text.size() == 43);
  Result<Fragile> cracked(tl::in_place, true);
  CHECK_THROWS_AS(Result<Fragile>(std::move(cracked)), std::runtime_error);
  Result<Fragile> error = Error(ErrorCode::kIncorrect, "number: odd");
  const Result<Fragile> moved_error(std::move(error));
  CHECK(moved_error.error().detail() == "number: odd");
}

// Throws in all that copies and moves while it is told to.
struct Picky {
  explicit Picky(int number_in) : number(number_in) {}
  Picky(const Picky& other) : number(other.number) { MayThrow(); }
  Picky(Picky&& other) : number(other.number) { MayThrow(); }  // NOLINT(performance-noexcept-*)
  Picky& operator=(const Picky& other) {
    MayThrow();
    number = other.number;
    return *this;
  }
  Picky& operator=(Picky&& other) {  // NOLINT(performance-noexcept-*)
    MayThrow();
    number = other.number;
    return *this;
  }
  ~Picky() = default;
  static void MayThrow() {
    if (throws) throw std::runtime_error("picky");
  }
  static inline bool throws = false;
  int number;
};

TEST_CASE("result: what copies and assignments of the value throw can be caught, nothing is lost") {
  for (const bool was_value : {true, false}) {
    CAPTURE(was_value);
    const Result<Picky> value(tl::in_place, 2);
    Result<Picky> moved(tl::in_place, 3);
    const Result<Picky> error(Error(ErrorCode::kIncorrect, "number: even"));
    Result<Picky> target = was_value ? Result<Picky>(tl::in_place, 1)
                                     : Result<Picky>(Error(ErrorCode::kIncorrect, "number: odd"));
    Picky::throws = true;
    CHECK_THROWS_AS((void)Result<Picky>(value), std::runtime_error);
    CHECK_THROWS_AS(target = value, std::runtime_error);
    CHECK_THROWS_AS(target = std::move(moved), std::runtime_error);
    Picky::throws = false;
    REQUIRE(target.has_value() == was_value);
    if (was_value) {
      CHECK(target->number == 1);
    } else {
      CHECK(target.error().detail() == "number: odd");
    }
    target = value;
    CHECK(target->number == 2);
    target = error;
    CHECK(target.error().detail() == "number: even");
    target = error;
    CHECK(target.error().detail() == "number: even");
    target = Result<Picky>(tl::in_place, 4);
    CHECK(target->number == 4);
    target = Half(1).has_value() ? value : Result<Picky>(Half(1).error());
    CHECK(target.error().detail() == "number: odd");
    const Result<Picky> copy = error;
    CHECK(copy.error().detail() == "number: even");
  }
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

TEST_CASE("result: what is made of one is checked, too") {
  const auto name = [](int number) { return "number " + std::to_string(number); };
  const Result<int> kept = Half(12);
  CHECK(*kept.map(name) == "number 6");
  CHECK(*kept.and_then(Half) == 3);
  CHECK(Half(6).and_then(Half).error() == ErrIncorrect);
  struct Pair {
    int first = 1;
  };
  CHECK(*Result<Pair>(Pair{5}).map(&Pair::first) == 5);
  Result<int> counted = 4;
  (void)counted.map([](int& number) { ++number; });
  CHECK(*counted == 5);
  CHECK_THROWS_AS((void)*Half(5).map(name), BadResult);
  CHECK_THROWS_AS((void)*Half(6).and_then(Half), BadResult);
  int seen = 0;
  const Result<void> noted = Half(12).map([&](int number) { seen = number; });
  CHECK(noted);
  CHECK(seen == 6);
  CHECK(Half(5).map([&](int number) { seen = number; }).error() == ErrIncorrect);
  CHECK(seen == 6);
  auto moved =
      Result<std::unique_ptr<int>>(std::make_unique<int>(4)).map([](std::unique_ptr<int> number) {
        return *number;
      });
  CHECK(*moved == 4);
}

TEST_CASE("result: what is made of an error, and of nothing") {
  const Result<int> five = 5;
  const Result<int> none = ErrTimeout;
  const auto six = [](const Error&) -> Result<int> { return 6; };
  CHECK(five.or_else(six).value() == 5);
  CHECK(none.or_else(six).value() == 6);
  CHECK(none.or_else([](Error error) -> Result<int> { return error; }).error() == ErrTimeout);
  Result<std::unique_ptr<int>> kept(std::make_unique<int>(7));
  const auto other = [](Error) -> Result<std::unique_ptr<int>> { return std::make_unique<int>(8); };
  CHECK(*std::move(kept).or_else(other).value() == 7);
  CHECK(*Result<std::unique_ptr<int>>(ErrTimeout).or_else(other).value() == 8);

  const Result<void> done;
  const Result<void> failed = ErrBusy;
  CHECK(done.map([] { return 3; }).value() == 3);
  CHECK(failed.map([] { return 3; }).error() == ErrBusy);
  int calls = 0;
  CHECK(done.map([&calls] { ++calls; }));
  CHECK(failed.map([&calls] { ++calls; }).error() == ErrBusy);
  CHECK(calls == 1);
  CHECK(done.and_then([]() -> Result<int> { return ErrTimeout; }).error() == ErrTimeout);
  CHECK(failed.and_then([]() -> Result<int> { return 4; }).error() == ErrBusy);
  CHECK(done.and_then([&done] { return done; }));
  CHECK(failed.or_else([&done](const Error&) { return done; }));
  CHECK(done.or_else([&failed](const Error&) { return failed; }));
  int told = 0;
  const auto tell = [&told](const Error& error) {
    told += error == ErrBusy || error == ErrTimeout;
  };
  CHECK(failed.or_else(tell).error() == ErrBusy);
  CHECK(none.or_else(tell).error() == ErrTimeout);
  CHECK(Result<int>(ErrBusy).or_else(tell).error() == ErrBusy);
  CHECK(five.or_else(tell).value() == 5);
  CHECK(done.or_else(tell));
  CHECK(told == 3);
}

}  // namespace
}  // namespace ergon::gen
