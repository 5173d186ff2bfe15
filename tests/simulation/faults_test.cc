// Which factories may have faults.
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

#include <ergon/act/actor.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::faults_test {
namespace {

TEST_CASE("faults: a factory that is empty, or makes processes of a function, is refused") {
  Simulation sim(1);
  CHECK_THROWS_AS((void)sim.WithFaults({}, {}), std::invalid_argument);
  CHECK_THROWS_AS((void)sim.WithFaults([](gen::Process&) {}, {}), std::invalid_argument);
}

TEST_CASE("faults: a factory that makes nothing fails as it does without them") {
  Simulation sim(1);
  const gen::ProcessFactory nothing(
      []() -> std::unique_ptr<gen::ProcessBehavior> { return nullptr; }, nullptr);
  auto spawned = sim.Node("faults@localhost").Spawn(sim.WithFaults(nothing, {}));
  CHECK(spawned.error() == gen::ErrIncorrect);
}

}  // namespace
}  // namespace ergon::testkit::faults_test
