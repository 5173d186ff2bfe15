// Messages that are sent again and again: Messenger::SendEvery.
//
// Each message of such a send, a tick, is stamped with its timer's number (kFlagStamped). Whoever
// takes one out of a mailbox asks here whether that timer still runs; so a timer that was cancelled
// has no tick any more, wherever it waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::node {

class PeriodicSend;
class Runtime;

// Those of a node that run. Any thread.
class PeriodicSends {
 public:
  using Make = std::function<core::EnvelopePtr()>;

  explicit PeriodicSends(Runtime& runtime) : runtime_(runtime) {}

  gen::Result<gen::TimerHandle> Start(gen::PID from, const gen::Target& to, Make make,
                                      std::chrono::nanoseconds period);
  // A tick leaves its mailbox to be handled. False: not so, its timer has ended.
  [[nodiscard]] bool Take(const core::Envelope& tick) { return SetWaits(tick, false); }
  // One that was taken goes on to another mailbox, or is kept for later.
  void WaitsAgain(const core::Envelope& tick) { (void)SetWaits(tick, true); }
  // A tick has left its mailbox in another way.
  void Lost(const core::Envelope& tick) { (void)Take(tick); }
  // Their sender ends.
  void EndThoseOf(gen::PID sender);
  // It runs no more.
  void Ended(std::uint64_t id, gen::PID sender);

 private:
  // False: its timer has ended.
  bool SetWaits(const core::Envelope& tick, bool waits);

  Runtime& runtime_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<PeriodicSend>> running_;  // by their numbers
  std::unordered_map<gen::PID, std::unordered_set<std::uint64_t>> by_sender_;
};

}  // namespace ergon::node
