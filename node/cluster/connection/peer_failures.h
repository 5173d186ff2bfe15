// What has gone wrong lately with other nodes: how long to wait before one is dialled again, and what the log has of it.
//
// Whoever sends to a node that is away all the time makes, and loses, a connection each time: some thousand in a second,
// each with a question to EPMD and a line in the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <ergon/gen/atom.h>
#include <ergon/node/cluster/connection/log_limit.h>

namespace ergon::dist {

// The thread of the network.
class PeerFailures {
 public:
  using Time = LogLimit::Time;
  static constexpr std::chrono::milliseconds kShortestPause{1};
  static constexpr std::chrono::milliseconds kLongestPause{50};
  // Of all peers together, in LogLimit::kPeriod: one that comes under a new name each time fills no log.
  static constexpr int kLines = 200;

  // How long to wait before `node` is dialled; what is sent waits meanwhile, as for the connection. 0, unless that has
  // failed a moment ago: then twice as long each time.
  [[nodiscard]] std::chrono::nanoseconds PauseBeforeDial(gen::Atom node, Time now) const;
  void FailedToDial(gen::Atom node, Time now);
  void Reached(gen::Atom node);

  // The line for the log, if there is to be one, about a connection that is down, and messages that were lost with it.
  struct Line {
    std::string text;
    std::uint64_t unsent = 0;  // also of lines that were left out
  };
  [[nodiscard]] std::optional<Line> LineOf(gen::Atom node, std::string_view why,
                                           std::uint64_t unsent, Time now);

 private:
  struct Peer {
    Time failed_at{};
    std::chrono::milliseconds pause{0};
    LogLimit lines;
    std::uint64_t unsent = 0;  // not in the log yet
  };
  [[nodiscard]] Peer& Of(gen::Atom node);

  LogLimit lines_{kLines};
  std::unordered_map<gen::Atom, Peer> peers_;
};

}  // namespace ergon::dist
