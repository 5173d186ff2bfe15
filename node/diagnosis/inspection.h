// A moment's view of a node and of its processes, and their counters.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/gen/message_balance.h>
#include <ergon/gen/node_info.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/process_info.h>
#include <ergon/gen/result.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/drops.h>
#include <ergon/node/delivery/message_totals.h>

namespace ergon::node {

// Any thread. The functions are described at gen::Node.
class Inspection {
 public:
  // All of them outlive this. `log` is the node's.
  Inspection(const Addresses& addresses, const Drops& drops, const MessageTotals& totals,
             const core::Clock& clock, const gen::LogSink& log)
      : addresses_(addresses), drops_(drops), totals_(totals), clock_(clock), log_(log) {}

  // Each list has up to `most` entries: meanwhile the process and those that it knows may wait for its lock.
  [[nodiscard]] gen::Result<gen::ProcessInfo> ProcessInfo(
      gen::PID pid, std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  struct Links {
    std::vector<gen::PID> first;
    std::size_t in_all = 0;
  };
  // Returns up to `most` links of a process, those by a name or an alias of either side after the others; none if it
  // has ended.
  [[nodiscard]] Links LinksOf(gen::PID pid, std::size_t most) const;
  [[nodiscard]] std::vector<gen::PID> ProcessList() const;
  // Calls `rest`, if there is one, after each 4,096 processes. It may suspend the caller: the sums are not of one
  // moment.
  [[nodiscard]] gen::MessageBalance MessageBalance(const std::function<void()>& rest = {}) const;
  // Returns how many messages connections with other nodes were given, also those that were lost with one. It never
  // goes down.
  [[nodiscard]] std::uint64_t GivenToNodes() const noexcept { return totals_.given_to_nodes.Sum(); }

 private:
  const Addresses& addresses_;
  const Drops& drops_;
  const MessageTotals& totals_;
  const core::Clock& clock_;
  const gen::LogSink& log_;
};

}  // namespace ergon::node
