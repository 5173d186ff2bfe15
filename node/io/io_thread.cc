#include <ergon/node/io/io_thread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <pthread.h>
#include <asio.hpp>

#include <ergon/core/messages/envelope_pool.h>
#include <ergon/node/io/clock_watch.h>
#include <ergon/node/io/io_threads.h>
#include <ergon/node/io/signals_at_fork.h>

namespace ergon::node {

namespace {

// Timers of such a stretch share a wake-up of this thread, and mostly one of a worker: what makes a
// node with many timers spend its time. They are late by less than this.
constexpr std::int64_t kSlack = 250'000;  // ns

void RestartCallsAfter(int signal) noexcept {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) != 0) return;
  action.sa_flags |= SA_RESTART;
  (void)::sigaction(signal, &action, nullptr);
}

}  // namespace

struct IoThread::Impl {
  explicit Impl(core::TimerQueue& queue)
      : timers(queue), work(asio::make_work_guard(context)), deadline(context) {
    // A posted handler sticks: it runs before the thread sleeps again (see timer_queue.h).
    timers.SetWake([this] { asio::post(context, [this] { FireAndSleep(); }); });
  }
  ~Impl() { timers.SetWake(nullptr); }

  // The driver's loop of the timer queue, one step per wake-up.
  void FireAndSleep() {
    timers.RunDue();
    core::ReleaseIdleEnvelopes();  // of messages that were late
    const std::int64_t until = timers.PrepareSleep(kSlack);
    if (until == core::kNever) {
      deadline.cancel();
      return;
    }
    deadline.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until)));
    deadline.async_wait([this](const asio::error_code& error) {
      if (!error) FireAndSleep();
    });
  }

  // Those that one function gets.
  struct Signals {
    Signals(asio::io_context& context, std::vector<int> numbers, std::function<void(int)> function)
        : which(std::move(numbers)), set(context), on_signal(std::move(function)) {
      for (const int signal : which) {
        set.add(signal);
        // Those that do not end the node shall not end what the program waits for: a read of its standard input.
        if (signal != SIGINT && signal != SIGTERM) RestartCallsAfter(signal);
      }
    }
    void Await() {
      set.async_wait([this](const asio::error_code& error, int signal) {
        if (error) return;
        on_signal(signal);
        Await();
      });
    }
    const std::vector<int> which;
    asio::signal_set set;
    std::function<void(int)> on_signal;
  };

  core::TimerQueue& timers;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::steady_timer deadline;
  std::list<Signals> signals;
  std::optional<ClockWatch> clock_watch;
  std::unique_ptr<OtherIo> owned_other;
  std::atomic<OtherIo*> other{nullptr};  // the same
  std::mutex lifecycle;                  // StartSignals and Stop, which wait for the thread
  std::mutex other_mutex;  // Other, which the thread may call; with it Stop sets is_stopped
  std::atomic<bool> is_stopped{false};
  std::thread thread;
};

IoThread::IoThread(core::TimerQueue& timers) : impl_(std::make_unique<Impl>(timers)) {
  asio::post(impl_->context, [impl = impl_.get()] { impl->FireAndSleep(); });
  impl_->thread = std::thread([impl = impl_.get()] {
    BecomeIoThread(impl);
    impl->context.run();
  });
  pthread_setname_np(impl_->thread.native_handle(), "ergon-io");
}

IoThread::~IoThread() { Stop(); }

gen::Result<void> IoThread::StartSignals(std::vector<int> which,
                                         std::function<void(int)> on_signal) {
  std::lock_guard lock(impl_->lifecycle);
  if (!impl_->thread.joinable()) return gen::ErrNodeTerminated;
  // On the thread, so that handlers never see a half-made set; waited for, so that a signal right
  // after this call is caught.
  std::promise<gen::Result<void>> ready;
  asio::post(impl_->context, [&, this] {
    const auto known = std::ranges::find(impl_->signals, which, &Impl::Signals::which);
    if (known != impl_->signals.end()) {
      known->on_signal = std::move(on_signal);
      ready.set_value({});
      return;
    }
    std::list<Impl::Signals> added;
    try {
      // Opens a pipe, the first one of the program.
      added.emplace_back(impl_->context, which, std::move(on_signal));
    } catch (const std::exception& error) {
      ready.set_value(gen::Error(gen::ErrorCode::kInternal,
                                 fmt::format("signals cannot be caught: {}", error.what())));
      return;
    }
    added.back().Await();
    LeaveToForks(which);
    impl_->signals.splice(impl_->signals.end(), added);
    ready.set_value({});
  });
  return ready.get_future().get();
}

gen::Result<void> IoThread::WatchClock(std::function<void()> on_set,
                                       std::function<void(const gen::Error&)> on_failure) {
  // Without the lock: who holds it may wait for this thread. A stopped one drops what is posted.
  if (impl_->is_stopped.load(std::memory_order_relaxed)) return gen::ErrNodeTerminated;
  auto opened = OpenClockAlarm();
  if (!opened) return std::move(opened.error());
  // On the thread, where nobody else uses it.
  asio::post(impl_->context,
             [impl = impl_.get(), alarm = std::move(*opened), on_set = std::move(on_set),
              on_failure = std::move(on_failure)]() mutable {
               try {
                 impl->clock_watch.emplace(impl->context, std::move(alarm), std::move(on_set));
               } catch (const std::system_error& error) {
                 on_failure(gen::Error(gen::ErrorCode::kInternal, error.what()));
               }
             });
  return {};
}

bool IoThread::IsCurrent() const noexcept { return IsThreadOf(impl_.get()); }

asio::io_context& IoThread::context() { return impl_->context; }

OtherIo& IoThread::Other(MakeOtherIo make) {
  if (OtherIo* const other = impl_->other.load(std::memory_order_acquire)) return *other;
  std::lock_guard lock(impl_->other_mutex);
  if (impl_->owned_other == nullptr) {
    impl_->owned_other = make();
    if (impl_->is_stopped.load(std::memory_order_relaxed)) impl_->owned_other->Stop();
    impl_->other.store(impl_->owned_other.get(), std::memory_order_release);
  }
  return *impl_->owned_other;
}

void IoThread::Stop() {
  std::lock_guard lock(impl_->lifecycle);
  if (!impl_->thread.joinable()) return;
  OtherIo* other = nullptr;
  {
    std::lock_guard other_lock(impl_->other_mutex);
    impl_->is_stopped.store(true, std::memory_order_relaxed);
    other = impl_->owned_other.get();
  }
  if (other != nullptr) other->Stop();
  impl_->context.stop();
  impl_->thread.join();
  impl_->signals.clear();  // nobody listens: they end the program again
}

}  // namespace ergon::node
