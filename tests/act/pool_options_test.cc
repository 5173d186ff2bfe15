#include <ergon/act/pool_options.h>

#include <cmath>

#include <doctest/doctest.h>

#include <ergon/act/actor.h>

namespace ergon::act {
namespace {

using namespace std::chrono_literals;

class Worker : public Actor {};

PoolOptions Valid() { return PoolOptions{.worker_factory = gen::Factory<Worker>()}; }

TEST_CASE("pool options: only the factory is needed") {
  CHECK(Valid().Validate() == "");
  CHECK(Valid().pool_size == 5);
  CHECK(PoolOptions{}.Validate().find("worker_factory") == 0);
}

TEST_CASE("pool options: an error names field and value") {
  PoolOptions options = Valid();
  options.pool_size = 0;
  CHECK(options.Validate() == "pool_size: 0 is outside 1..10000");
  options.pool_size = -3;
  CHECK(options.Validate() == "pool_size: -3 is outside 1..10000");
  options.pool_size = 10'001;
  CHECK(options.Validate() == "pool_size: 10001 is outside 1..10000");
  options.pool_size = 10'000;
  CHECK(options.Validate() == "");

  options.worker_mailbox_size = -1;
  CHECK(options.Validate() == "worker_mailbox_size: -1 is outside 0..4000000");
  options.worker_mailbox_size = 4'000'001;
  CHECK(options.Validate() == "worker_mailbox_size: 4000001 is outside 0..4000000");
  options.worker_mailbox_size = 4'000'000;
  CHECK(options.Validate() == "");
}

TEST_CASE("pool options: times and restarts") {
  PoolOptions options = Valid();
  options.restart_backoff_min = 0ns;
  CHECK(options.Validate() == "restart_backoff_min: 0 is less than 1ns");
  options.restart_backoff_min = 10s;
  CHECK(options.Validate() == "restart_backoff_max: 5s is less than 10s");
  options = Valid();
  options.max_restarts = -1;
  CHECK(options.Validate().find("max_restarts: -1") == 0);
  options = Valid();
  options.restart_period = 0ns;
  CHECK(options.Validate().find("restart_period: 0") == 0);
  options = Valid();
  options.shutdown_timeout = -1ns;
  CHECK(options.Validate().find("shutdown_timeout: -1ns") == 0);
}

TEST_CASE("pool options: strategies and the admission limit") {
  PoolOptions options = Valid();
  options.admission_limit = -1ns;
  CHECK(options.Validate() == "admission_limit: -1ns is less than 0");
  options.admission_limit = 0ns;
  options.strategy = PoolStrategy::SharedQueue();
  options.worker_mailbox = gen::Mailbox::Bounded(3, gen::Overflow::kDropOldest);
  CHECK(options.Validate() == "");
  options.worker_mailbox = gen::Mailbox::Priority<int>([](int number) { return number; });
  CHECK(options.Validate() ==
        "strategy: shared queue, but worker_mailbox has an order of its own: priority");
  options.strategy = PoolStrategy::LeastLoaded();
  CHECK(options.Validate() == "");
}

TEST_CASE("pool options: the bounds of a pool that sizes itself") {
  PoolOptions options = Valid();
  const auto problem = [&](PoolAutoscale autoscale) {
    options.autoscale = autoscale;
    return options.Validate();
  };
  CHECK(problem({.min = 1, .max = 8}) == "");
  CHECK(problem({.min = 5, .max = 5}) == "");
  CHECK(problem({}) == "autoscale.max: 0 is outside 1..10000");
  CHECK(problem({.min = 0, .max = 8}) == "autoscale.min: 0 is outside 1..10000");
  CHECK(problem({.min = 1, .max = 10'001}) == "autoscale.max: 10001 is outside 1..10000");
  CHECK(problem({.min = 9, .max = 8}) == "autoscale.max: 8 is less than autoscale.min: 9");
  CHECK(problem({.max = 8, .target_wait = 0ns}) == "autoscale.target_wait: 0 is less than 1ns");
  CHECK(problem({.max = 8, .target_utilization = 0}) ==
        "autoscale.target_utilization: 0, must be more than 0 and less than 1");
  CHECK(problem({.max = 8, .target_utilization = std::nan("")}) ==
        "autoscale.target_utilization: nan, must be more than 0 and less than 1");
  CHECK(problem({.max = 8, .shrink_after = 999ms}) ==
        "autoscale.shrink_after: 999ms is less than 1s");
  CHECK(problem({.max = 8, .target_wait = 1h, .shrink_after = 24h * 30}) == "");
  CHECK(problem({.max = 8, .target_wait = 1h + 1ns}) ==
        "autoscale.target_wait: 3600000000001ns is more than 60min");
  CHECK(problem({.max = 8, .shrink_after = 24h * 30 + 1ns}) ==
        "autoscale.shrink_after: 2592000000000001ns is more than 43200min");
  CHECK(problem({.min = 6, .max = 8}) == "pool_size: 5 is outside 6..8, the bounds of autoscale");
  options.strategy = PoolStrategy::Broadcast<int>();
  CHECK(problem({.min = 1, .max = 8}) ==
        "autoscale: not with the strategy broadcast, where each worker handles all messages, "
        "however many there are");
}

}  // namespace
}  // namespace ergon::act
