#include <ergon/node/cluster/connection/peer_failures.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kMostPeers = 1000;
// After that the first pause is short again.
constexpr std::chrono::seconds kForgotten{1};

}  // namespace

PeerFailures::Peer& PeerFailures::Of(gen::Atom node) {
  if (peers_.size() > kMostPeers) peers_.clear();
  return peers_[node];
}

std::chrono::nanoseconds PeerFailures::PauseBeforeDial(gen::Atom node, Time now) const {
  const auto found = peers_.find(node);
  if (found == peers_.end()) return std::chrono::nanoseconds::zero();
  const auto left = found->second.failed_at + found->second.pause - now;
  return std::max<std::chrono::nanoseconds>(left, std::chrono::nanoseconds::zero());
}

void PeerFailures::FailedToDial(gen::Atom node, Time now) {
  Peer& peer = Of(node);
  const bool is_first = peer.pause == peer.pause.zero() || now - peer.failed_at > kForgotten;
  peer.pause = is_first ? kShortestPause : std::min(2 * peer.pause, kLongestPause);
  peer.failed_at = now;
}

void PeerFailures::Reached(gen::Atom node) {
  const auto found = peers_.find(node);
  if (found != peers_.end()) found->second.pause = {};
}

std::optional<PeerFailures::Line> PeerFailures::LineOf(gen::Atom node, std::string_view why,
                                                       std::uint64_t unsent, Time now) {
  Peer& peer = Of(node);
  peer.unsent += unsent;
  const std::uint64_t of_peer = peer.lines.LeftOut();
  if (!peer.lines.Take(now)) return std::nullopt;
  peer.left_out += of_peer;
  const std::uint64_t of_all = lines_.LeftOut();
  if (!lines_.Take(now)) return std::nullopt;
  Line line{fmt::format("network: no connection with {}: {}", node, why),
            std::exchange(peer.unsent, 0)};
  if (line.unsent != 0) {
    line.text += fmt::format("; messages that were not sent: {}", line.unsent);
  }
  line.text += gen::LogLimit::TextOf(std::exchange(peer.left_out, 0) + of_all);
  return line;
}

}  // namespace ergon::dist
