#include <ergon/node/io/clock_watch.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace ergon::node {

gen::Result<Descriptor> OpenClockAlarm() {
  Descriptor alarm(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  // It never expires: it is there to be cancelled.
  itimerspec never = {};
  never.it_value.tv_sec = std::numeric_limits<time_t>::max();
  if (!alarm || timerfd_settime(alarm.number(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never,
                                nullptr) != 0) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("timerfd: {}", std::generic_category().message(errno)));
  }
  return alarm;
}

ClockWatch::ClockWatch(asio::io_context& context, Descriptor alarm, std::function<void()> on_set)
    : alarm_(context), on_set_(std::move(on_set)) {
  alarm_.assign(alarm.number());
  (void)alarm.Release();
  Wait();
}

void ClockWatch::Wait() {
  alarm_.async_wait(
      asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
        if (error) return;
        // Of a timer that was cancelled, ECANCELED, which makes it unreadable again.
        std::array<std::uint64_t, 8> taken;
        const auto size = read(alarm_.native_handle(), taken.data(), sizeof(taken));
        if (size == 0 || (size < 0 && errno != ECANCELED && errno != EAGAIN && errno != EINTR))
          return;
        on_set_();
        Wait();
      });
}

}  // namespace ergon::node
