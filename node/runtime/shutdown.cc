#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/runtime/shutdown.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_set>
#include <utility>

#include <unistd.h>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/io/io_threads.h>
#include <ergon/node/runtime/stop_sequence.h>

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

void Shutdown::Wait() {
  if (tearing_down_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  needs_.dispatcher.Wait(stopped_event_);
}

gen::Reason Shutdown::Why() const {
  std::lock_guard lock(why_mutex_);
  return why_;
}

void Shutdown::SetWhy(const gen::Reason& why) {
  std::lock_guard lock(why_mutex_);
  why_ = why;
}

bool Shutdown::Begin(bool in_background, const gen::Reason& why) {
  std::lock_guard lock(mutex_);
  if (phase_.load() != Phase::kRunning) return false;
  phase_.store(Phase::kStopping);
  SetWhy(why);
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
    SetWhy(gen::Reason());
    needs_.population.AcceptOutsiders();
    throw;
  }
  return true;
}

void Shutdown::Stop(bool force, const gen::Reason& why) {
  if (needs_.fork_guard.IsForked()) return;
  if (force) force_.store(true);
  // A handler cannot wait for its own end, nor a thread of the node's for its own: somebody else does.
  const bool must_not_wait = core::Worker::Current() != nullptr || IsIoThread();
  const bool begins = Begin(must_not_wait, why);
  if (!begins && why.IsFailure())
    Tell(gen::LogLevel::kError, fmt::format("the node stops already: {}", why));
  if (must_not_wait) {
    if (force && !begins) KillAll();
    return;
  }
  if (begins) {
    TearDown();
    return;
  }
  if (force && phase_.load() != Phase::kStopped) KillAll();
  Wait();
}

void Shutdown::TearDown() {
  tearing_down_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  const std::int64_t began = needs_.clock.Now();
  if (const gen::Reason why = Why(); why.IsFailure()) {
    Tell(gen::LogLevel::kError, fmt::format("the node stops: {}", why));
  }
  Tell(fmt::format("the node stops: it has {}",
                   core::Counted(NewestFirst(Which::kAll).size(), "process", "processes")));
  if (!force_.load()) StopInOrder(core::DeadlineAfter(began, needs_.options.shutdown_timeout));
  TellKilled();
  KillAll();
  const std::int64_t given = needs_.options.shutdown_deadline.count();
  const std::int64_t last =
      given == 0 ? INT64_MAX : core::DeadlineAfter(began, needs_.options.shutdown_deadline);
  // A handler that never returns cannot be ended: say which one it is, and wait.
  while (!needs_.population.WaitUntilEmpty(needs_.clock,
                                           std::min(last, needs_.clock.Now() + kWarnEvery))) {
    if (needs_.clock.Now() >= last) EndProgram();
    WarnOfBusy();
    KillAll();
  }
  Tell(fmt::format("all processes have ended, after {}", ForPeople(needs_.clock.Now() - began)));
  needs_.transport.Close();
  needs_.addresses.NoteStopped();
  home_.store(kNowhere, std::memory_order_relaxed);  // seen by all after stopped_event_
  if (io_ != nullptr) io_->Stop();
  if (watchdog_ != nullptr) watchdog_->Stop();
  (void)needs_.dispatcher.Stop();
  needs_.dedicated_dispatchers.Stop();
  needs_.end_recording();
  needs_.pending_calls.FailAll(gen::ErrNodeTerminated);
  needs_.timers.RunAll();
  tearing_down_.store({}, std::memory_order_relaxed);
  phase_.store(Phase::kStopped);
  signalled_.Set();  // nobody needs to wait for a signal any more
  stopped_event_.Set();
}

std::vector<gen::PID> Shutdown::NewestFirst(Which which) const {
  const auto is_wanted = [&](std::uint64_t parent) {
    if (which == Which::kAll || parent == Addresses::kNodeId) return true;
    return which == Which::kWithoutParent && needs_.addresses.FindHere(parent) == nullptr;
  };
  std::vector<std::pair<std::uint64_t, gen::PID>> found;
  needs_.addresses.table().ForEach([&](const ProcessSlot& process) {
    const gen::PID pid =
        needs_.addresses.PidOf(process.Id());  // first: it changes when the process ends
    if (process.mailbox().IsClosed()) return;
    if (!is_wanted(process.parent_id())) return;
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
  std::int64_t told_at = needs_.clock.Now();
  std::vector<gen::PID> applications = needs_.applications.MastersNewestFirst();
  bool in_applications = !applications.empty();
  auto sequence = begin(in_applications ? std::move(applications) : NewestFirst(Which::kOfNode));
  // Until StopForce and new orphans are noticed, ns.
  constexpr std::int64_t kLook = 10'000'000;
  constexpr std::int64_t kSoon = 1'000'000;
  while (needs_.clock.Now() < deadline && !force_.load()) {
    std::int64_t look = kLook;
    if (sequence->IsDone() && std::exchange(in_applications, false)) {
      sequence = begin(NewestFirst(Which::kOfNode));
    } else if (sequence->IsDone()) {
      // Who has a parent that lives is for that to end.
      std::vector<gen::PID> rest = NewestFirst(Which::kWithoutParent);
      std::erase_if(rest, [&](gen::PID pid) { return !asked.insert(pid).second; });
      // Their children are next: a long row of them, each the child of the one before, does not take long.
      if (!rest.empty()) {
        look = kSoon;
        sequence = begin(std::move(rest));
      }
    }
    if (needs_.population.WaitUntilEmpty(needs_.clock,
                                         std::min(deadline, needs_.clock.Now() + look)))
      break;
    if (needs_.clock.Now() - told_at < kWarnEvery) continue;
    told_at = needs_.clock.Now();
    TellWaited(sequence->Waited());
  }
  needs_.population.SetListener(nullptr);
}

void Shutdown::KillAll() {
  needs_.population.gate().Close();  // first: whoever may run is found from now on
  for (const gen::PID pid : NewestFirst(Which::kAll)) (void)needs_.exit_signals.Kill(pid);
}

void Shutdown::Tell(gen::LogLevel level, const std::string& line) {
  if (level >= needs_.log.Level()) needs_.log.Write(level, line);
}

void Shutdown::TellWaited(gen::PID pid) {
  if (Level() < needs_.log.Level()) return;
  const std::string text = unfinished_.Waited(pid);
  if (!text.empty()) Tell("stopping: waits for " + text);
}

void Shutdown::TellKilled() {
  const std::vector<gen::PID> left = NewestFirst(Which::kAll);
  if (left.empty() || force_.load()) return;
  Tell(gen::LogLevel::kWarning,
       fmt::format("{} not ended within {}, and {} killed: {}",
                   core::Counted(left.size(), "process has", "processes have"),
                   ForPeople(needs_.options.shutdown_timeout.count()),
                   left.size() == 1 ? "is" : "are", unfinished_.Left(left)));
}

void Shutdown::EndProgram() {
  for (const gen::PID pid : NewestFirst(Which::kAll)) {
    const std::string text = unfinished_.Waited(pid);
    if (!text.empty()) gen::Log(needs_.log).Error("has not ended: {}", text);
  }
  gen::Log(needs_.log)
      .Error("the node has not stopped within {}: the program ends, with the exit status {}",
             ForPeople(needs_.options.shutdown_deadline.count()), gen::kExitStuck);
  needs_.write_dump();
  std::_Exit(gen::kExitStuck);
}

void Shutdown::WarnOfBusy() {
  for (const gen::PID pid : NewestFirst(Which::kAll)) {
    const ProcessSlot* const process = needs_.addresses.Find(pid);
    if (process == nullptr || !process->activity().IsInHandler() ||
        process->State() == gen::ProcessState::kWaiting) {
      continue;
    }
    gen::Log(needs_.log)
        .Warning(
            "cannot stop yet: {} is still in a handler, though it was killed: Call, Sleep and "
            "Receive end at once and say so, a gen::Blocking and a loop that does not look go on",
            AsInItsLines(needs_.addresses, pid));
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
  Stop(false, gen::Reason::Shutdown());
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
  const char* const name = ::sigabbrev_np(signal);
  is_signalled_ = true;
  Tell(fmt::format("SIG{}: the node stops{}", name == nullptr ? "?" : name,
                   signals_ == 0 ? "" : " at once"));
  if (signals_ == 0 && stops_on_signal_) {
    try {
      (void)Begin(true, gen::Reason::Shutdown());
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
