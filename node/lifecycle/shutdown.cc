// How a node ends.
//
//   1  in order   applications, the last one started first; then processes without a parent, the last
//                 one started first: each handles what waits in its mailbox, then ends, then the next
//                 one is asked. Linked children go with it.
//   2  the rest   children without links, in the same way
//   3  by force   after the deadline, or at once with StopForce: everything is killed
//   4  tear-down  timers, threads, calls that still wait
#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include <ergon/core/foundations/fatal.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/time/deadline.h>

namespace ergon::node {
namespace {
constexpr std::int64_t kWarnEvery =
    1'000'000'000;  // ns, while a handler keeps the node from ending
// What handlers have after a second signal before the program is ended.
constexpr std::chrono::milliseconds kForceGrace{500};
}  // namespace

void Runtime::Stop() { DoStop(false); }

void Runtime::StopForce() { DoStop(true); }

void Runtime::Wait() {
  if (IsForked() || !CheckMayBlock("Wait")) return;
  dispatcher_->Wait(stopped_event_);
}

void Runtime::DoStop(bool force) {
  if (IsForked()) return;
  if (force) force_.store(true);
  const bool in_handler = core::Worker::Current() != nullptr;
  bool begins = false;
  {
    std::lock_guard lock(stop_mutex_);
    if (phase_.load() == Phase::kRunning) {
      phase_.store(Phase::kStopping);
      begins = true;
      // A handler cannot wait for its own end: somebody else does.
      if (in_handler && options_.defer) {
        options_.defer([this] { TearDown(); });
      } else if (in_handler) {
        try {
          stopper_ = std::thread([this] { TearDown(); });
        } catch (...) {
          phase_.store(Phase::kRunning);  // no thread for it: the handler hears of it
          throw;
        }
      }
    }
  }
  if (in_handler) {
    if (force && !begins) KillAll();
    return;
  }
  if (begins) {
    TearDown();
    return;
  }
  if (force && phase_.load() != Phase::kStopped) KillAll();
  dispatcher_->Wait(stopped_event_);
}

void Runtime::TearDown() {
  const std::int64_t deadline = DeadlineAfter(clock_->Now(), options_.shutdown_timeout);
  if (!force_.load()) StopInOrder(deadline);
  KillAll();
  // A handler that never returns cannot be ended: say which one it is, and wait.
  while (!WaitUntilEmpty(clock_->Now() + kWarnEvery)) {
    WarnOfBusy();
    KillAll();
  }
  stopped_.store(true, std::memory_order_release);
  home_.store(kNowhere, std::memory_order_relaxed);  // seen by all after stopped_event_
  if (io_ != nullptr) io_->Stop();
  if (watchdog_ != nullptr) watchdog_->Stop();
  (void)dispatcher_->Stop();
  own_dispatchers_.Stop();
  pending_calls_.FailAll(gen::ErrNodeTerminated);
  timers_->RunAll();
  phase_.store(Phase::kStopped);
  signalled_.Set();  // nobody needs to wait for a signal any more
  stopped_event_.Set();
}

gen::Error Runtime::WhyNotUsable() const {
  if (!IsForked()) return gen::ErrNodeTerminated;
  return gen::Error(
      gen::ErrorCode::kNodeTerminated,
      fmt::format("this is a fork of the process of {}, whose threads did not come along", name_));
}

void Runtime::CheckMayBeDestroyed() const {
  const Process* process = core::Worker::Current() == nullptr ? nullptr : CurrentProcess();
  if (process == nullptr || process->runtime_ != this) return;
  const std::string text = fmt::format(
      "{}: a handler of {} destroys its own node, whose end would wait for that handler, or calls "
      "exit() while the node is a static variable. Call Node().Stop() there, and let the node's "
      "owner "
      "wait for it",
      name_, process->InHandler());
  core::Fatal("node::Node::~Node", text.c_str());
}

std::vector<gen::PID> Runtime::NewestFirst(bool top_level_only) const {
  std::vector<std::pair<std::uint64_t, gen::PID>> found;
  table_.ForEach([&](const Process& process) {
    const gen::PID pid = process.Self();  // first: it changes when the process ends
    if (process.mailbox_.IsClosed()) return;
    if (top_level_only && process.parent_id_.load(std::memory_order_relaxed) != kNodeId) return;
    found.emplace_back(process.sequence_.load(std::memory_order_relaxed), pid);
  });
  std::sort(found.begin(), found.end(),
            [](const auto& left, const auto& right) { return left.first > right.first; });
  std::vector<gen::PID> order;
  order.reserve(found.size());
  for (const auto& [sequence, pid] : found) order.push_back(pid);
  return order;
}

void Runtime::StopInOrder(std::int64_t deadline) {
  auto ask = [this](gen::PID pid) {
    return static_cast<bool>(StopAfterQueue(pid, gen::Reason::Shutdown()));
  };
  auto begin = [&](std::vector<gen::PID> order) {
    auto sequence = std::make_shared<StopSequence>(std::move(order), ask);
    {
      std::lock_guard lock(sequence_mutex_);
      sequence_ = sequence;
    }
    sequence->Start();
    return sequence;
  };
  std::unordered_set<gen::PID> asked;
  std::vector<gen::PID> applications = applications_.MastersNewestFirst();
  bool in_applications = !applications.empty();
  auto sequence = begin(in_applications ? std::move(applications) : NewestFirst(true));
  while (clock_->Now() < deadline && !force_.load()) {
    if (sequence->IsDone() && std::exchange(in_applications, false)) {
      sequence = begin(NewestFirst(true));
    } else if (sequence->IsDone()) {
      // What is left has no parent that takes it along.
      std::vector<gen::PID> rest = NewestFirst(false);
      std::erase_if(rest, [&](gen::PID pid) { return !asked.insert(pid).second; });
      if (!rest.empty()) sequence = begin(std::move(rest));
    }
    constexpr std::int64_t kLook = 10'000'000;  // ns; until StopForce and new orphans are noticed
    if (WaitUntilEmpty(std::min(deadline, clock_->Now() + kLook))) break;
  }
  std::lock_guard lock(sequence_mutex_);
  sequence_ = nullptr;
}

void Runtime::KillAll() {
  no_more_processes_.store(true, std::memory_order_seq_cst);
  for (const gen::PID pid : NewestFirst(false)) (void)Kill(pid);
}

bool Runtime::WaitUntilEmpty(std::int64_t deadline) {
  core::Event empty;
  empty_event_.store(&empty, std::memory_order_seq_cst);
  // Partner: ProcessEnded, which counts and then looks for the event.
  const bool is_empty =
      ended_.load(std::memory_order_seq_cst) == spawned_.load(std::memory_order_seq_cst);
  const bool reached =
      is_empty || dispatcher_->WaitFor(empty, std::max<std::int64_t>(0, deadline - clock_->Now()));
  if (empty_event_.exchange(nullptr, std::memory_order_seq_cst) == nullptr) {
    dispatcher_->Wait(empty);  // somebody has taken it and is about to set it
    return true;
  }
  return reached;
}

void Runtime::WarnOfBusy() {
  for (const gen::PID pid : NewestFirst(false)) {
    auto info = ProcessInfo(pid);
    if (!info || info->state != gen::ProcessState::kRunning) continue;
    Log().Warning("cannot stop yet: {} {} is still in a handler", pid, info->behavior);
  }
}

gen::Result<void> Runtime::WaitForSignal() {
  auto may_block = CheckMayBlock("WaitForSignal");
  if (!may_block) return may_block;
  if (io_ == nullptr) {
    return gen::Error(gen::ErrorCode::kNotAllowed, "a node with a clock of its own has no signals");
  }
  auto listens = io_->StartSignals([this](int signal) { Signalled(signal); });
  // Stopped: too late for signals.
  if (!listens && listens.error() != gen::ErrNodeTerminated) return listens;
  if (listens) signalled_.Wait();
  Stop();
  return {};
}

// On the I/O thread.
void Runtime::Signalled(int signal) {
  if (signals_++ == 0) {
    signalled_.Set();
    return;
  }
  force_.store(true);
  KillAll();
  if (signals_ == 2) timers_->Arm(last_resort_, DeadlineAfter(clock_->Now(), kForceGrace));
  last_signal_ = signal;
}

// On the I/O thread, or at the very end. A handler that does not return cannot be ended, but the
// program can, as if it had not caught the signal.
void Runtime::EndBySignal(void* context, std::uint64_t) {
  auto* runtime = static_cast<Runtime*>(context);
  if (runtime->IsStopped()) return;
  runtime->WarnOfBusy();
  const int signal = runtime->last_signal_;
  runtime->Log().Error("a second signal: the program ends now");
  std::signal(signal, SIG_DFL);
  (void)::kill(::getpid(), signal);  // a thread that does not block it
}

}  // namespace ergon::node
