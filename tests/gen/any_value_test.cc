#include <ergon/gen/any_value.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

TEST_CASE("any value: none") {
  const AnyValue none;
  CHECK_FALSE(none);
  CHECK(none.As<int>() == nullptr);
  CHECK(none.Get<int>() == std::nullopt);
  CHECK(none.TypeName().empty());
  CHECK(none == AnyValue(std::nullopt));
}

TEST_CASE("any value: one of its type, and of no other") {
  const AnyValue value = std::vector<int>{1, 2};
  REQUIRE(value);
  CHECK(value.Get<std::vector<int>>() == std::vector<int>{1, 2});
  CHECK(value.As<std::vector<long>>() == nullptr);
  CHECK(value.TypeName().find("vector<int") != std::string::npos);
}

TEST_CASE("any value: a 64-bit integer is any other one that it fits") {
  const AnyValue value = std::int64_t{200};
  CHECK(value.Get<int>() == 200);
  CHECK(value.Get<std::uint8_t>() == std::uint8_t{200});
  CHECK_FALSE(value.Get<std::int8_t>());
  CHECK_FALSE(value.Get<double>());
  CHECK(value.As<int>() == nullptr);
  CHECK_FALSE(AnyValue(std::int64_t{-1}).Get<std::uint64_t>());
  CHECK_FALSE(AnyValue(200).Get<std::int64_t>());  // an int is an int
}

TEST_CASE("any value: texts are std::string, and equal by what they say") {
  CHECK(AnyValue("a").Get<std::string>() == "a");
  CHECK(AnyValue(std::string_view("a")) == AnyValue(std::string("a")));
  CHECK_FALSE(AnyValue("a") == AnyValue("b"));
  CHECK_FALSE(AnyValue(1) == AnyValue(1));  // two objects
}

TEST_CASE("any value: copies share the object, which need not be copyable") {
  const AnyValue value(std::make_unique<int>(3));
  const AnyValue copy =
      value;  // NOLINT(performance-unnecessary-copy-initialization): what is tested
  CHECK(copy == value);
  CHECK(copy.As<std::unique_ptr<int>>() == value.As<std::unique_ptr<int>>());
  CHECK(**copy.As<std::unique_ptr<int>>() == 3);
}

}  // namespace
}  // namespace ergon::gen
