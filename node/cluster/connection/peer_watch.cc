#include <ergon/node/cluster/connection/peer_watch.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace ergon::dist {

std::string PeerWatch::Look(std::size_t queued, bool is_listened_to) {
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(tick_time_ / kLooks * (kLooks + 1))
          .count();
  unheard_ = std::exchange(is_heard_, false) || !is_listened_to ? 0 : unheard_ + 1;
  const std::uint64_t taken = taken_ - std::exchange(taken_before_, taken_);
  full_ = queued >= bound_ && taken < std::min(bound_, kNextToNothing) / kLooks ? full_ + 1 : 0;
  if (unheard_ > kLooks) return fmt::format("it has said nothing for {} ms", ms);
  if (full_ <= kLooks) return {};
  return fmt::format("it has taken next to nothing for {} ms, and {} bytes wait to be sent to it",
                     ms, queued);
}

}  // namespace ergon::dist
