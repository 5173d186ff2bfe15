// The processes of the service without network and clock: one thread, virtual time, an order that a seed chooses.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ergon/act/actor.h>
#include <ergon/act/supervisor.h>
#include <ergon/testkit/simulation.h>

#include "catalog.h"
#include "messages.h"
#include "prices.h"

namespace price_service {
namespace {

using namespace ergon;
using namespace std::chrono_literals;
using testkit::Simulation;

// Those of the tree that need neither sockets nor systemd.
class Tree : public act::Supervisor {
 public:
  explicit Tree(const PricesOptions& prices) : prices_(prices) {}

 private:
  gen::Result<act::SupervisorSpec> Init(const gen::Args&) override {
    return act::SupervisorSpec{
        .type = act::SupervisorType::kRestForOne,
        .children = {{.name = kCatalog, .factory = gen::Factory<Catalog>()},
                     {.name = kPrices, .factory = gen::Factory<Prices>(prices_)}}};
  }
  const PricesOptions prices_;
};

class Watcher : public act::Actor {
 public:
  explicit Watcher(std::vector<PriceChanged>* seen) : seen_(seen) {}

 private:
  gen::Status Init(const gen::Args&) override {
    return JoinGroup(kWatchers) ? gen::Continue() : gen::Stop(gen::Reason::Error("no group"));
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    seen_->push_back(message.Take<PriceChanged>());
    return gen::Continue();
  }
  std::vector<PriceChanged>* const seen_;
};

gen::ProcessID Named(const gen::Node& node, const char* name) { return {name, node.Name()}; }

TEST_CASE("an offer is the sum of the articles, less what a voucher saves") {
  Simulation sim(1);
  gen::Node& node = sim.Node("prices@test");
  node.Spawn(gen::Factory<Tree>(PricesOptions{})).value();
  const auto prices = Named(node, kPrices);
  const auto offer = node.Call(prices, Order{{{"tea", 2}, {"cup", 1}}, {}}).value();
  CHECK(offer.cents == 1250);
  CHECK_FALSE(offer.saved);
  const auto cheaper = node.Call(prices, Order{{{"tea", 4}}, "TEN_PERCENT"}).value();
  CHECK(cheaper.cents == 900);
  CHECK(cheaper.saved == 100);
  CHECK(node.Call(prices, Order{}).error().AsAtom() == gen::Atom("empty_order"));
  CHECK(node.Call(prices, Order{{{"jam", 1}}, {}}).error().detail() == "jam: no such article");
  CHECK(node.Call(prices, Order{{{"tea", 0}}, {}}).error().detail() ==
        "tea: 0 of them: 1 to 1000000 can be ordered");
}

TEST_CASE("an order whose sum does not fit gets an error") {
  Simulation sim(1);
  gen::Node& node = sim.Node("prices@test");
  node.Spawn(gen::Factory<Tree>(PricesOptions{})).value();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  REQUIRE(node.Send(Named(node, kCatalog), SetPrice{"gold", kMost}));
  sim.RunUntilIdle();
  const auto ask = [&](std::vector<Item> items) {
    return node.Call(Named(node, kPrices), Order{std::move(items), {}});
  };
  CHECK(ask({{"gold", 1}}).value().cents == kMost);
  CHECK(ask({{"gold", 2}}).error().detail() == "gold: 2 of them: the sum does not fit");
  CHECK(ask({{"gold", 1}, {"tea", 1}}).error().detail() == "tea: 1 of them: the sum does not fit");
}

TEST_CASE("all workers know a new price before the watchers hear of it") {
  Simulation::ForSeeds(1, 200, [](Simulation& sim) {
    gen::Node& node = sim.Node("prices@test");
    node.Spawn(gen::Factory<Tree>(PricesOptions{})).value();
    std::vector<PriceChanged> seen;
    node.Spawn(gen::Factory<Watcher>(&seen)).value();
    REQUIRE(node.Send(Named(node, kCatalog), SetPrice{"tea", 0}));  // refused
    REQUIRE(node.Send(Named(node, kCatalog), SetPrice{"tea", 300}));
    REQUIRE(node.Send(Named(node, kCatalog), SetPrice{"jam", 400}));
    REQUIRE(sim.RunUntil([&] { return seen.size() == 2; }));
    CHECK(seen[0].before == 250);
    CHECK_FALSE(seen[1].before);
    for (int i = 0; i < 8; ++i) {  // each worker twice
      const Order order{{{"tea", 1}, {"jam", 1}}, {}};
      CHECK(node.Call(Named(node, kPrices), order).value().cents == 700);
    }
  });
}

TEST_CASE("a pool that is full is scaled, and handles what waits") {
  Simulation::ForSeeds(1, 100, [](Simulation& sim) {
    gen::Node& node = sim.Node("prices@test");
    node.Spawn(gen::Factory<Tree>(PricesOptions{.workers = 1, .queue = 1, .work = 100ms})).value();
    const auto prices = Named(node, kPrices);
    const gen::PID pool = node.Resolve(prices).value();
    const Order order{{{"tea", 1}}, {}};
    const auto ask = [&] { return sim.CallLater(pool, order); };
    auto handled = ask();
    sim.RunFor(10ms);
    auto waits = ask();
    sim.RunFor(10ms);
    CHECK(node.Call(prices, order).error() == gen::ErrProcessMailboxFull);
    const gen::CallOptions high{.priority = gen::MessagePriority::kHigh};
    CHECK(node.Call(prices, Resize{0}, high).error() == gen::ErrIncorrect);
    CHECK(node.Call(prices, Resize{3}, high).value() == 3);
    CHECK(node.Call(prices, order).value().cents == 250);
    CHECK(node.Call(prices, Resize{1}, high).value() == 1);
    sim.RunUntilIdle();
    CHECK(handled.get().value().cents == 250);
    CHECK(waits.get().value().cents == 250);
    sim.ExpectConservation();
  });
}

TEST_CASE("a bug costs one caller its answer; a catalog that dies takes the workers with it") {
  Simulation::ForSeeds(1, 100, [](Simulation& sim) {
    gen::Node& node = sim.Node("prices@test");
    node.Spawn(gen::Factory<Tree>(PricesOptions{})).value();
    const auto prices = Named(node, kPrices);
    const Order order{{{"tea", 1}}, {}};
    CHECK(node.Call(prices, Order{{{"tea", 1}}, "BUG"}).error() == gen::ErrProcessTerminated);
    CHECK(node.Call(prices, order).value().cents == 250);
    const gen::PID former = node.Resolve(prices).value();
    sim.Kill(node.Resolve(Named(node, kCatalog)).value(), sim.Random(0ns, 1ms));
    REQUIRE(sim.RunUntil([&] {
      const auto now = node.Resolve(prices);
      return now && *now != former;
    }));
    sim.RunUntilIdle();
    CHECK(node.Call(prices, order).value().cents == 250);
  });
}

}  // namespace
}  // namespace price_service
