// Messages that are sent again and again: Messenger::SendEvery.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <ergon/core/clock.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/log.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/gen/timer_handle.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/ticks.h>

namespace ergon::node {

class PeriodicSend;

// The periodic sends of a node. Any thread.
class PeriodicSends {
 public:
  using Make = std::function<core::EnvelopePtr()>;

  // What it needs; all of it outlives this.
  struct Needs {
    const Addresses& addresses;
    Delivery& delivery;
    MessageTotals& totals;
    Ticks& ticks;
    core::TimerQueue& timers;
    const core::Clock& clock;
    gen::LogSink& log;
  };
  explicit PeriodicSends(const Needs& needs) : needs_(needs) {}

  gen::Result<gen::TimerHandle> Start(gen::PID from, const gen::Target& to, Make make,
                                      std::chrono::nanoseconds period);
  // Ends the periodic sends of a sender that ends.
  void EndThoseOf(gen::PID sender);
  // Removes one that has ended.
  void Ended(std::uint64_t id, gen::PID sender);

 private:
  const Needs needs_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<PeriodicSend>> running_;  // by their numbers
  std::unordered_map<gen::PID, std::unordered_set<std::uint64_t>> by_sender_;
};

}  // namespace ergon::node
