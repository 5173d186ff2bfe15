// What keeps a node from ending, as the lines of its log tell it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/gen/pid.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// Any thread. The texts describe a moment, while processes go on.
class Unfinished {
 public:
  Unfinished(const Addresses& addresses, const core::Clock& clock)
      : addresses_(addresses), clock_(clock) {}

  // Returns a process that a stop waits for, and what it does. If that is nothing, it waits for its children, and
  // theirs: the text goes on with the busiest of these. Empty: it has ended.
  [[nodiscard]] std::string Waited(gen::PID pid) const;
  // Returns up to five of these processes, the busiest first, each with what it does, and behind them how many messages
  // wait for all of them.
  [[nodiscard]] std::string Left(const std::vector<gen::PID>& pids) const;

 private:
  struct Work {
    gen::PID pid;
    bool is_in_handler = false;
    std::uint64_t messages = 0;  // that wait
  };
  [[nodiscard]] static Work WorkOf(const ProcessSlot& process, gen::PID pid);
  // Returns the processes that descend from this one and have something to do, the busiest first.
  [[nodiscard]] std::vector<Work> WorkBelow(gen::PID pid) const;
  [[nodiscard]] std::string Describe(const Work& work) const;

  const Addresses& addresses_;
  const core::Clock& clock_;
};

}  // namespace ergon::node
