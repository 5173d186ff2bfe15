#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/lifecycle/shutdown.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <unordered_set>
#include <utility>

#include <unistd.h>

#include <ergon/core/time/deadline.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/lifecycle/stop_sequence.h>

namespace ergon::node {
namespace {
constexpr std::int64_t kWarnEvery =
    1'000'000'000;  // ns, while a handler keeps the node from ending
// What handlers have after a second signal before the program is ended.
constexpr std::chrono::milliseconds kForceGrace{500};
}  // namespace

Shutdown::~Shutdown() {
  if (stopper_.joinable()) stopper_.join();
}

void Shutdown::Wait() { needs_.dispatcher.Wait(stopped_event_); }

bool Shutdown::Begin(bool in_background) {
  std::lock_guard lock(mutex_);
  if (phase_.load() != Phase::kRunning) return false;
  phase_.store(Phase::kStopping);
  needs_.population.RefuseOutsiders();
  if (!in_background) return true;
  try {
    if (needs_.options.defer) {
      needs_.options.defer([this] { TearDown(); });
      return true;
    }
    stopper_ = std::thread([this] { TearDown(); });
  } catch (...) {
    phase_.store(Phase::kRunning);  // no thread for it: who has asked hears of it
    needs_.population.AcceptOutsiders();
    throw;
  }
  return true;
}

void Shutdown::Stop(bool force) {
  if (needs_.fork_guard.IsForked()) return;
  if (force) force_.store(true);
  // A handler cannot wait for its own end: somebody else does.
  const bool in_handler = core::Worker::Current() != nullptr;
  const bool begins = Begin(in_handler);
  if (in_handler) {
    if (force && !begins) KillAll();
    return;
  }
  if (begins) {
    TearDown();
    return;
  }
  if (force && phase_.load() != Phase::kStopped) KillAll();
  needs_.dispatcher.Wait(stopped_event_);
}

void Shutdown::TearDown() {
  const std::int64_t deadline =
      core::DeadlineAfter(needs_.clock.Now(), needs_.options.shutdown_timeout);
  if (!force_.load()) StopInOrder(deadline);
  KillAll();
  // A handler that never returns cannot be ended: say which one it is, and wait.
  while (!needs_.population.WaitUntilEmpty(needs_.clock, needs_.clock.Now() + kWarnEvery)) {
    WarnOfBusy();
    KillAll();
  }
  if (border_ != nullptr) border_->Close();
  needs_.addresses.NoteStopped();
  home_.store(kNowhere, std::memory_order_relaxed);  // seen by all after stopped_event_
  if (io_ != nullptr) io_->Stop();
  if (watchdog_ != nullptr) watchdog_->Stop();
  (void)needs_.dispatcher.Stop();
  needs_.dedicated_dispatchers.Stop();
  needs_.pending_calls.FailAll(gen::ErrNodeTerminated);
  needs_.timers.RunAll();
  phase_.store(Phase::kStopped);
  signalled_.Set();  // nobody needs to wait for a signal any more
  stopped_event_.Set();
}

std::vector<gen::PID> Shutdown::NewestFirst(bool top_level_only) const {
  std::vector<std::pair<std::uint64_t, gen::PID>> found;
  needs_.addresses.table().ForEach([&](const ProcessSlot& process) {
    const gen::PID pid =
        needs_.addresses.PidOf(process.Id());  // first: it changes when the process ends
    if (process.mailbox().IsClosed()) return;
    if (top_level_only && process.parent_id() != Addresses::kNodeId) return;
    found.emplace_back(process.sequence(), pid);
  });
  std::sort(found.begin(), found.end(),
            [](const auto& left, const auto& right) { return left.first > right.first; });
  std::vector<gen::PID> order;
  order.reserve(found.size());
  for (const auto& [sequence, pid] : found) order.push_back(pid);
  return order;
}

void Shutdown::StopInOrder(std::int64_t deadline) {
  auto ask = [this](gen::PID pid) {
    return static_cast<bool>(needs_.exit_signals.StopAfterQueue(pid, gen::Reason::Shutdown()));
  };
  auto begin = [&](std::vector<gen::PID> order) {
    auto sequence = std::make_shared<StopSequence>(std::move(order), ask);
    needs_.population.SetListener([sequence](gen::PID pid) { sequence->Ended(pid); });
    sequence->Start();
    return sequence;
  };
  std::unordered_set<gen::PID> asked;
  std::vector<gen::PID> applications = needs_.applications.MastersNewestFirst();
  bool in_applications = !applications.empty();
  auto sequence = begin(in_applications ? std::move(applications) : NewestFirst(true));
  while (needs_.clock.Now() < deadline && !force_.load()) {
    if (sequence->IsDone() && std::exchange(in_applications, false)) {
      sequence = begin(NewestFirst(true));
    } else if (sequence->IsDone()) {
      // What is left has no parent that takes it along.
      std::vector<gen::PID> rest = NewestFirst(false);
      std::erase_if(rest, [&](gen::PID pid) { return !asked.insert(pid).second; });
      if (!rest.empty()) sequence = begin(std::move(rest));
    }
    constexpr std::int64_t kLook = 10'000'000;  // ns; until StopForce and new orphans are noticed
    if (needs_.population.WaitUntilEmpty(needs_.clock,
                                         std::min(deadline, needs_.clock.Now() + kLook)))
      break;
  }
  needs_.population.SetListener(nullptr);
}

void Shutdown::KillAll() {
  needs_.population.Close();
  for (const gen::PID pid : NewestFirst(false)) (void)needs_.exit_signals.Kill(pid);
}

void Shutdown::WarnOfBusy() {
  for (const gen::PID pid : NewestFirst(false)) {
    auto info = needs_.inspection.ProcessInfo(pid);
    if (!info || info->state != gen::ProcessState::kRunning) continue;
    gen::Log(needs_.log)
        .Warning("cannot stop yet: {} {} is still in a handler", pid, info->behavior);
  }
}

gen::Result<void> Shutdown::WaitForSignal() {
  if (io_ == nullptr) {
    return gen::Error(gen::ErrorCode::kNotAllowed, "a node with a clock of its own has no signals");
  }
  auto listens = ListenForSignals();
  // Stopped: too late for signals.
  if (!listens && listens.error() != gen::ErrNodeTerminated) return listens;
  if (listens) signalled_.Wait();
  Stop(false);
  return {};
}

gen::Result<void> Shutdown::StopOnSignal() {
  stops_on_signal_ = true;
  return ListenForSignals();
}

gen::Result<void> Shutdown::ListenForSignals() {
  return io_->StartSignals({SIGINT, SIGTERM}, [this](int signal) { Signalled(signal); });
}

// On the I/O thread.
void Shutdown::Signalled(int signal) {
  if (signals_ == 0 && stops_on_signal_) {
    try {
      (void)Begin(true);
    } catch (...) {
      gen::Log(needs_.log).Error("the node cannot be stopped: {}", core::ThrownText());
      signalled_.Set();  // a thread in WaitForSignal can
      return;            // or the next signal
    }
  }
  if (signals_++ == 0) {
    signalled_.Set();
    return;
  }
  force_.store(true);
  KillAll();
  if (signals_ == 2)
    needs_.timers.Arm(last_resort_, core::DeadlineAfter(needs_.clock.Now(), kForceGrace));
  last_signal_ = signal;
}

// On the I/O thread, or at the very end. A handler that does not return cannot be ended, but the
// program can, as if it had not caught the signal.
void Shutdown::EndBySignal(void* context, std::uint64_t) {
  auto* shutdown = static_cast<Shutdown*>(context);
  if (shutdown->needs_.addresses.IsStopped()) return;
  shutdown->WarnOfBusy();
  const int signal = shutdown->last_signal_;
  gen::Log(shutdown->needs_.log).Error("a second signal: the program ends now");
  std::signal(signal, SIG_DFL);
  (void)::kill(::getpid(), signal);  // a thread that does not block it
}

}  // namespace ergon::node
