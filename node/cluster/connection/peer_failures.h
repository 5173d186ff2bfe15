// Recent failures with other nodes: how long to wait before a node is dialled again, and what the log says of it.
//
// A process that keeps sending to a node that is away makes and loses a connection each time: some thousand in a
// second, each with a request to EPMD and a line in the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <ergon/gen/atom.h>
#include <ergon/gen/log_limit.h>

namespace ergon::dist {

// The thread of the network.
class PeerFailures {
 public:
  using Time = gen::LogLimit::Time;
  static constexpr std::chrono::milliseconds kShortestPause{1};
  static constexpr std::chrono::milliseconds kLongestPause{50};
  // Lines about all peers together, in gen::LogLimit::kPeriod, so that a peer with a new name each time does not fill
  // the log.
  static constexpr int kLines = 200;

  // Returns how long to wait before `node` is dialled; messages wait meanwhile, as for the connection. 0, unless
  // dialling has failed a moment ago: then twice as long each time.
  [[nodiscard]] std::chrono::nanoseconds PauseBeforeDial(gen::Atom node, Time now) const;
  void FailedToDial(gen::Atom node, Time now);
  void Reached(gen::Atom node);

  // A line for the log about a connection that is down, and the messages that were lost with it. LineOf returns none if
  // there is to be no line.
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
    gen::LogLimit lines;
    std::uint64_t unsent = 0;    // not in the log yet
    std::uint64_t left_out = 0;  // lines, told by none yet, that are no longer counted by `lines`
  };
  [[nodiscard]] Peer& Of(gen::Atom node);

  gen::LogLimit lines_{kLines};
  std::unordered_map<gen::Atom, Peer> peers_;
};

}  // namespace ergon::dist
