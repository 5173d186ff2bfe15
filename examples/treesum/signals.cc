#include "signals.h"

#include <csignal>
#include <ctime>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace treesum {
namespace {

constexpr timespec kPatience{0, 600'000'000};

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Signals::Signals(std::stop_source stop, std::function<void()> on_stuck)
    : stop_(std::move(stop)), on_stuck_(std::move(on_stuck)) {
  std::signal(SIGPIPE, SIG_IGN);  // writing returns an error instead
  sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::thread([this] { Wait(); });
}

Signals::~Signals() {
  over_ = true;
  // Wakes the thread, which waits for this signal; nothing is terminated by it.
  pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  thread_.join();
}

void Signals::Wait() {
  sigset_t signals = StopSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  if (over_) return;
  received_ = signal;
  stop_.request_stop();
  sigtimedwait(&signals, nullptr, &kPatience);
  if (over_) return;
  on_stuck_();
  ::_exit(ExitStatus(signal));
}

}  // namespace treesum
