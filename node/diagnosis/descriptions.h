// The text of a time-out: what the called process is doing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <typeinfo>

#include <ergon/core/clock.h>
#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/call_edge.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Returns the registered name of a process; empty if it has none, or has ended. Any thread.
[[nodiscard]] gen::Atom NameOf(const Addresses& addresses, gen::PID pid);
// Returns a pool as its workers' log lines name it: " of pool 'thumbnails'", or with the PID if it has no name. Any
// thread.
[[nodiscard]] std::string OfPool(gen::PID pool, gen::Atom name);
// Returns a process as its own log lines begin: PID, registered name, behaviour, pool. Any thread.
[[nodiscard]] std::string AsInItsLines(const Addresses& addresses, gen::PID pid);

// Returns the text of a process's own log level (ProcessSlot::own_log_level).
[[nodiscard]] std::string LevelText(std::uint8_t level);

// Any thread. The texts describe a process at one moment, while it goes on.
class Descriptions {
 public:
  Descriptions(const Addresses& addresses, const core::Clock& clock)
      : addresses_(addresses), clock_(clock) {}

  // Returns a process with its behaviour, for people.
  [[nodiscard]] std::string Describe(gen::PID pid) const;
  // Returns kTimeout, with what the called process is doing.
  [[nodiscard]] gen::Error TimeoutError(const CallEdge::View& call) const;
  // Returns kTimeout, because the Init of a process has taken longer than it may.
  [[nodiscard]] static gen::Error InitTimeoutError(gen::PID pid, const std::type_info& behavior,
                                                   std::chrono::nanoseconds timeout);

 private:
  // Returns the text for CallEdge::View::to.
  [[nodiscard]] std::string DescribeCallee(std::uint64_t to) const;
  [[nodiscard]] std::string CalleeState(const CallEdge::View& call) const;
  [[nodiscard]] std::string PoolState(const PoolSlot& pool, const CallEdge::View& call) const;
  [[nodiscard]] std::string ActivityOf(const ProcessSlot& process,
                                       const CallEdge::View& call) const;

  const Addresses& addresses_;
  const core::Clock& clock_;
};

}  // namespace ergon::node
