// One thread, virtual time, and for each seed another order of what happens.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <ergon/node/node.h>
#include <ergon/testkit/simulation.h>

#include "squares.h"

using namespace ergon;
using namespace std::chrono_literals;

TEST_CASE("a number is squared; one whose square is too large is an error, and the pool goes on") {
  testkit::Simulation::ForSeeds(1, 20, [](testkit::Simulation& sim) {
    auto& node = sim.Node("test@localhost");
    node.LoadApplication(Squares()).value();
    node.StartApplication("squares").value();
    const gen::ProcessID squares{"squares", node.Name()};
    CHECK(node.Call<int>(squares, Square{12}).value() == 144);
    CHECK_FALSE(node.Call<int>(squares, Square{1'000'000}));
    CHECK(node.Call<int>(squares, Square{-7}).value() == 49);
    sim.ExpectConservation();
  });
}

TEST_CASE("a worker is killed at any moment: at most the request that it handled is lost") {
  testkit::Simulation::ForSeeds(1, 200, [](testkit::Simulation& sim) {
    auto& node = sim.Node("test@localhost");
    node.LoadApplication(Squares()).value();
    node.StartApplication("squares").value();
    const gen::PID pool = node.Resolve(gen::ProcessID{"squares", node.Name()}).value();
    auto answers = sim.CallMany<int>(pool, 50, [](int i) { return Square{i}; });
    sim.KillRandomChild(pool, /*after=*/sim.Random(0ms, 1ms));
    sim.RunUntilIdle();
    int answered = 0;
    for (auto& answer : answers) answered += answer.ready() && answer.get().has_value();
    CHECK(answered >= 49);
    CHECK(node.Inspect(pool).value().at("pool_size") == "4");
    sim.ExpectConservation();
  });
}
