#include <ergon/node/cluster/groups/group_timer.h>

#include <algorithm>

namespace ergon::dist {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100};

}  // namespace

void GroupTimer::Start() { AskAfter(kFirstPause); }

void GroupTimer::AskAfter(std::chrono::nanoseconds delay) {
  const auto due = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<asio::steady_timer::duration>(delay);
  // The earlier question stays: peers that come all the time do not put it off.
  if (is_running_ && timer_.expiry() <= due) return;
  is_running_ = true;
  timer_.expires_at(due);
  timer_.async_wait([this, delay](const asio::error_code& error) {
    if (error) return;
    is_running_ = false;
    if (groups_.AskAgain()) AskAfter(std::min(2 * delay, longest_));
  });
}

}  // namespace ergon::dist
