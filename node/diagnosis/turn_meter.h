// How long each process runs, from the dispatcher's hooks.
#pragma once

#include <ergon/core/dispatcher.h>

namespace ergon::node {

// For NodeOptions::measure_running_time. Everything that the dispatcher runs must be a ProcessSlot.
class TurnMeter final : public core::DispatcherHooks {
 public:
  void BeforeTurn(core::Schedulable& schedulable, int worker) override;
  void AfterTurn(core::Schedulable& schedulable, int worker, core::TurnEnd end) override;
};

}  // namespace ergon::node
