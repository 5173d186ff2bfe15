// When other nodes are asked again for the members of their groups.
#pragma once

#include <chrono>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <ergon/node/cluster/groups/process_groups.h>

namespace ergon::dist {

// The thread of the network.
class GroupTimer {
 public:
  // The pauses between two questions grow to `longest`.
  GroupTimer(asio::io_context& context, ProcessGroups& groups, std::chrono::nanoseconds longest)
      : groups_(groups), longest_(longest), timer_(context) {}

  // Asks soon, and again and again, less and less often, as long as there is a node to be asked.
  void Start();
  void Cancel() { timer_.cancel(); }

 private:
  void AskAfter(std::chrono::nanoseconds delay);

  ProcessGroups& groups_;
  const std::chrono::nanoseconds longest_;
  asio::steady_timer timer_;
  bool is_running_ = false;
};

}  // namespace ergon::dist
