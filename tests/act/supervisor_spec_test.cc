#include <ergon/act/supervisor_spec.h>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>

namespace ergon::act {
namespace {

class Child : public Actor {};

SupervisorSpec ValidSpec() {
  return {.children = {{.name = "a", .factory = gen::Factory<Child>()},
                       {.name = "b", .factory = gen::Factory<Child>()}}};
}

TEST_CASE("supervisor spec: defaults are valid") {
  CHECK(SupervisorSpec{}.Validate().empty());
  CHECK(ValidSpec().Validate().empty());
}

TEST_CASE("supervisor spec: what is wrong is named") {
  SupervisorSpec spec = ValidSpec();
  SUBCASE("intensity") {
    spec.restart.intensity = -1;
    CHECK(spec.Validate() == "restart.intensity: -1 is outside 0..1000000");
  }
  SUBCASE("period") {
    spec.restart.period_s = 0;
    CHECK(spec.Validate() == "restart.period_s: 0 is outside 1..1000000");
  }
  SUBCASE("back-off") {
    spec.restart.backoff_min = std::chrono::nanoseconds(-1);
    CHECK(spec.Validate() == "restart.backoff_min: -1ns is less than 0");
  }
  SUBCASE("the most back-off") {
    spec.restart.backoff_min = std::chrono::nanoseconds(8);
    spec.restart.backoff_max = std::chrono::nanoseconds(7);
    CHECK(spec.Validate() == "restart.backoff_max: 7ns is less than 8ns");
  }
  SUBCASE("type") {
    spec.type = static_cast<SupervisorType>(9);
    CHECK(spec.Validate() == "type: 9, must be a SupervisorType");
  }
  SUBCASE("strategy") {
    spec.restart.strategy = static_cast<SupervisorStrategy>(9);
    CHECK(spec.Validate() == "restart.strategy: 9, must be a SupervisorStrategy");
  }
  SUBCASE("strategy of a child") {
    spec.children[1].strategy = static_cast<SupervisorStrategy>(9);
    CHECK(spec.Validate() == "children[1].strategy: 9, must be a SupervisorStrategy");
  }
  SUBCASE("name") {
    spec.children[1].name = "";
    CHECK(spec.Validate() == "children[1].name: must not be empty");
  }
  SUBCASE("name twice") {
    spec.children[1].name = "a";
    CHECK(spec.Validate() == "children[1].name: 'a', must be unique");
  }
  SUBCASE("factory") {
    spec.children[0].factory = {};
    CHECK(spec.Validate() ==
          "children[0].factory: is empty, as in gen::Factory<Child>() is needed");
  }
  SUBCASE("time-out") {
    spec.children[0].shutdown_timeout = std::chrono::nanoseconds(-1);
    CHECK(spec.Validate() == "children[0].shutdown_timeout: -1ns, must not be negative");
  }
  SUBCASE("significant without auto-shutdown") {
    spec.children[0].significant = true;
    spec.children[0].strategy = SupervisorStrategy::kTransient;
    CHECK(spec.Validate() == "children[0].significant: true, must be false without auto_shutdown");
  }
  SUBCASE("significant and permanent") {
    spec.auto_shutdown = SupervisorAutoShutdown::kAnySignificant;
    spec.children[0].significant = true;
    CHECK(spec.Validate() == "children[0].significant: true, must be false for a permanent child");
    spec.children[0].strategy = SupervisorStrategy::kTransient;
    CHECK(spec.Validate().empty());
  }
  SUBCASE("auto-shutdown of templates") {
    spec.type = SupervisorType::kSimpleOneForOne;
    spec.auto_shutdown = SupervisorAutoShutdown::kAllSignificant;
    CHECK(spec.Validate() == "auto_shutdown: must be kNever with kSimpleOneForOne");
  }
}

}  // namespace
}  // namespace ergon::act
