#include <ergon/gen/event.h>

#include <memory>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

namespace ergon::gen {
namespace {

static_assert(std::is_trivially_copyable_v<Event>);

TEST_CASE("event: a name on a node") {
  const Event event{"prices", "demo@localhost"};
  CHECK(event == Event{"prices", "demo@localhost"});
  CHECK(event != Event{"prices", {}});
  CHECK(event != Event{"rates", "demo@localhost"});
  CHECK(event.ToString() == "Event#<prices@demo@localhost>");
  CHECK(fmt::format("{}", event) == event.ToString());
}

TEST_CASE("event: all subscribers share one value") {
  std::shared_ptr<core::Envelope> value(
      core::MakeEnvelope<std::string>(0, core::Lane::kMain, "rising").release(),
      core::EnvelopeDisposer());
  const std::weak_ptr<core::Envelope> watch = value;
  {
    const MessageEvent first({"prices", {}}, 100, value);
    const MessageEvent second = first;
    value.reset();
    CHECK(first.event() == Event{"prices", {}});
    CHECK(second.timestamp() == 100);
    CHECK(first.Is<std::string>());
    CHECK_FALSE(first.Is<int>());
    REQUIRE(first.As<std::string>() != nullptr);
    CHECK(*first.As<std::string>() == "rising");
    CHECK(first.As<std::string>() == second.As<std::string>());
    static_assert(std::is_same_v<decltype(first.As<std::string>()), const std::string*>);
    CHECK(second.TypeName().find("string") != std::string::npos);
  }
  CHECK(watch.expired());
}

}  // namespace
}  // namespace ergon::gen
