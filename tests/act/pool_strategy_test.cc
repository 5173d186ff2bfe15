#include <ergon/act/pool_strategy.h>

#include <doctest/doctest.h>

#include <string>

namespace ergon::act {
namespace {

struct Order {
  std::string account;
};
struct Refund {
  std::string account;
};

template <class T>
std::optional<std::uint64_t> KeyOf(const PoolStrategy& strategy, T value) {
  const auto envelope = core::MakeEnvelope<T>(0, core::Lane::kMain, std::move(value));
  return strategy.KeyOfMessage(*envelope);
}

TEST_CASE("pool strategy: names, and who places the messages") {
  CHECK(PoolStrategy().ToString() == "rotation");
  CHECK(PoolStrategy::Rotation().ToString() == "rotation");
  CHECK(PoolStrategy::LeastLoaded().ToString() == "least loaded");
  CHECK(PoolStrategy::Random(3).ToString() == "random");
  CHECK(PoolStrategy::Random(3).seed() == 3);
  CHECK_FALSE(PoolStrategy::Random().IsPlacedByPool());
  CHECK(PoolStrategy::SharedQueue().ToString() == "shared queue");
  CHECK(PoolStrategy::SharedQueue().IsPlacedByPool());
  const auto by_key = PoolStrategy::ByKey<Order>([](const Order&) { return 1; });
  CHECK(by_key.ToString() == "by key");
  CHECK(by_key.IsPlacedByPool());
}

TEST_CASE("pool strategy: equal keys are equal, of whatever type the message is") {
  const auto strategy =
      PoolStrategy::ByKey<Order, Refund>([](const auto& message) { return message.account; });
  CHECK(KeyOf(strategy, Order{"ann"}).has_value());
  CHECK(KeyOf(strategy, Order{"ann"}) == KeyOf(strategy, Refund{"ann"}));
  CHECK(KeyOf(strategy, Order{"ann"}) != KeyOf(strategy, Order{"ben"}));
  CHECK_FALSE(KeyOf(strategy, 1).has_value());
  CHECK_FALSE(KeyOf(PoolStrategy::SharedQueue(), Order{"ann"}).has_value());
}

TEST_CASE("pool strategy: a copy has the value, the sender and the deadline") {
  const auto strategy = PoolStrategy::Broadcast<Order, int>();
  CHECK(strategy.ToString() == "broadcast");
  auto order = core::MakeEnvelope<Order>(1, core::Lane::kMain, Order{"ann"});
  order->from = {1, 2, 3};
  order->deadline = 4;
  order->ref = 5;
  REQUIRE(strategy.IsBroadcast(*order));
  const auto copy = strategy.Copy(*order);
  CHECK(copy->ValueAs<Order>()->account == "ann");
  CHECK(order->ValueAs<Order>()->account == "ann");
  CHECK(copy->kind == 1);
  CHECK(copy->from == order->from);
  CHECK(copy->deadline == 4);
  CHECK(copy->ref == 0);
  CHECK_FALSE(strategy.IsBroadcast(*core::MakeEnvelope<Refund>(0, core::Lane::kMain, Refund{})));
  CHECK_FALSE(PoolStrategy().IsBroadcast(*order));
}

}  // namespace
}  // namespace ergon::act
