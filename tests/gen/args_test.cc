#include <ergon/gen/args.h>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

struct ArgsOrder {
  static constexpr const char* kTag = "order";
};
struct ArgsPrice {
  static constexpr const char* kTag = "price";
};

TEST_CASE("args: none") {
  const Args args;
  CHECK(args.size() == 0);
  CHECK(args.Get<int>(0).error() == ErrIncorrect);
  CHECK(args.Get<int>(0).error().detail() == "argument 0 (counted from 0): only 0 given");
  CHECK(MakeArgs().size() == 0);
}

TEST_CASE("args: values of any type") {
  const Args args = MakeArgs(3, std::string("jobs"), std::vector<int>{1, 2});
  CHECK(args.size() == 3);
  CHECK(args.Get<int>(0).value() == 3);
  CHECK(args.Get<std::string>(1).value() == "jobs");
  CHECK(args.Get<std::vector<int>>(2).value() == std::vector<int>{1, 2});
  CHECK(args.Get<int>(3).error().detail() == "argument 3 (counted from 0): only 3 given");
}

TEST_CASE("args: of another type") {
  const Args args = MakeArgs(3);
  const Result<double> wrong = args.Get<double>(0);
  CHECK(wrong.error() == ErrIncorrect);
  CHECK(wrong.error().detail() == "argument 0 (counted from 0): is int, not double");
  CHECK(MakeArgs(ArgsOrder()).Get<ArgsPrice>(0).error().detail() ==
        "argument 0 (counted from 0): is order, not price");
  CHECK(MakeArgs(ArgsOrder()).Get<int>(0).error().detail() ==
        "argument 0 (counted from 0): is order, not int");
}

TEST_CASE("args: a number of 64 bits is any integer that holds it") {
  const Args args = MakeArgs(std::int64_t{300});
  CHECK(args.Get<int>(0).value() == 300);
  CHECK(args.Get<std::uint8_t>(0).error() == ErrIncorrect);
}

TEST_CASE("args: optional ones") {
  CHECK(MakeArgs().Get<int>(0).value_or(5) == 5);
  CHECK(MakeArgs(4).Get<int>(0).value_or(5) == 4);
}

TEST_CASE("args: one list behind the other") {
  const Args all = MakeArgs(1, "two").With(MakeArgs(3));
  REQUIRE(all.size() == 3);
  CHECK(all.Get<int>(0).value() == 1);
  CHECK(all.Get<std::string>(1).value() == "two");
  CHECK(all.Get<int>(2).value() == 3);
  CHECK(MakeArgs().With(MakeArgs(4)).Get<int>(0).value() == 4);
  CHECK(MakeArgs(5).With(MakeArgs()).size() == 1);
}

TEST_CASE("args: copies share the values") {
  const Args args = MakeArgs(std::string(1000, 'x'));
  const Args copy = args;  // NOLINT(performance-unnecessary-copy-initialization): what is tested
  CHECK(copy.Get<std::string>(0).value() == std::string(1000, 'x'));
  CHECK(copy.size() == 1);
}

TEST_CASE("args: moved and copied in") {
  std::string text = "text";
  const Args args = MakeArgs(text, std::move(text));
  CHECK(args.Get<std::string>(0).value() == "text");
  CHECK(args.Get<std::string>(1).value() == "text");
}

}  // namespace
}  // namespace ergon::gen
