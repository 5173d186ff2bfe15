// All pool strategies, for tests that hold for each of them.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/pool_options.h>
#include <ergon/act/pool_strategy.h>

#include <kit/worker.h>

namespace ergon::kit {

// The key is the value.
[[nodiscard]] inline act::PoolStrategy ByValue() {
  return act::PoolStrategy::ByKey<Job, Ask>([](const auto& message) { return message.value; });
}

[[nodiscard]] inline act::PoolOptions With(act::PoolOptions options,
                                           const act::PoolStrategy& strategy) {
  options.strategy = strategy;
  return options;
}

// Calls check(strategy) for each, as parts of one test case.
template <class Check>
void ForEachStrategy(Check check) {
  for (const act::PoolStrategy& strategy :
       {act::PoolStrategy::Rotation(), act::PoolStrategy::LeastLoaded(),
        act::PoolStrategy::Random(7), ByValue(), act::PoolStrategy::SharedQueue()}) {
    const std::string name(strategy.ToString());
    CAPTURE(name);
    check(strategy);
  }
}

}  // namespace ergon::kit
