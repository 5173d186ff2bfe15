// Tells the log when a pool begins to refuse messages, for want of room or for its load, and when that is over.
//
// Each sender gets its own error. The log gets only two lines, however many messages are refused.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/act/pool/members.h>
#include <ergon/act/pool_options.h>
#include <ergon/gen/host/pool_host.h>
#include <ergon/gen/timer_handle.h>

namespace ergon::act {

class PoolShortage {
 public:
  // The message to itself that makes the pool call Look.
  struct Timer {};
  // A shortage is over when nothing has been refused for this time, and no sender waits for room.
  static constexpr std::chrono::nanoseconds kCalm = std::chrono::seconds(1);

  // All arguments outlive it.
  PoolShortage(gen::PoolHost& host, const PoolMembers& members, const PoolOptions& options)
      : host_(host), members_(members), options_(options) {}

  // Takes the arrival of a kShortage envelope. `overloaded`: how many messages the pool has refused for its load.
  void Began(std::uint64_t overloaded);
  // Takes the arrival of a Timer.
  void Look(std::uint64_t overloaded);
  void Cancel() { (void)timer_.Cancel(); }

 private:
  // Returns how many messages were refused or dropped.
  [[nodiscard]] std::uint64_t Missed() const;

  gen::PoolHost& host_;
  const PoolMembers& members_;
  const PoolOptions& options_;
  gen::TimerHandle timer_;
  std::int64_t began_at_ = 0;      // ns
  std::uint64_t told_ = 0;         // refusals, when the last shortage ended
  std::uint64_t overloaded_ = 0;   // those for the load, then
  std::uint64_t last_looked_ = 0;  // refusals
};

}  // namespace ergon::act
