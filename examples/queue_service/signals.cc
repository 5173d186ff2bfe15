#include "signals.h"

#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace queue_service {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Signals::Signals() {
  const sigset_t signals = StopSignals();
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
  const sigset_t signals = StopSignals();
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (over_) return;
    if (received_ != 0) ::_exit(128 + signal);
    received_ = signal;
  }
}

}  // namespace queue_service
