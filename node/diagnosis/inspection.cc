// A moment's view of the node and of its processes, and their books.
#include <algorithm>
#include <mutex>

#include <ergon/node/lifecycle/runtime.h>

namespace ergon::node {

gen::Result<gen::ProcessInfo> Runtime::ProcessInfo(gen::PID pid) const {
  const Process* process = Find(pid);
  if (process == nullptr) return std::move(Reach(pid).error());
  gen::ProcessInfo info;
  info.pid = pid;
  info.state = static_cast<gen::ProcessState>(process->state_.load(std::memory_order_relaxed));
  info.messages_queued = process->MainMessagesApprox();
  info.messages_handled = process->counts_.handled();
  info.messages_dropped = process->Rare().expired.Read();
  info.messages_held = static_cast<std::uint64_t>(
      std::max<std::int64_t>(process->Rare().held.load(std::memory_order_relaxed), 0));
  info.messages_sent = process->counts_.sent();
  info.messages_overflowed = process->Rare().overflowed.load(std::memory_order_relaxed);
  info.suspended = process->suspended_.load(std::memory_order_relaxed);
  info.mailbox_size = process->mailbox_.capacity();
  info.trap_exit = process->TrapExit();
  info.log_level = process->Level();
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (!process->IsStill(pid)) {
    return gen::ErrProcessTerminated;
  }
  // Fixed from spawn to end, and the end of the process waits for the lock above.
  info.behavior = process->behavior_->BehaviorName();
  info.parent = process->Parent();
  info.leader = process->Leader();
  if (const auto values = process->GetEnvironment()) info.environment = *values;
  info.detached = process->detached_;
  info.uptime = std::chrono::nanoseconds(clock_->Now() - process->started_at_);
  info.running_time =
      std::chrono::nanoseconds(process->Rare().running_ns.load(std::memory_order_relaxed));
  info.turns = process->Rare().turns.load(std::memory_order_relaxed);
  info.name = cold.name;
  if (cold.mailbox.HasQueue()) info.mailbox_size = static_cast<std::uint32_t>(cold.mailbox.bound());
  const bool is_short = info.mailbox_size != 0 && cold.mailbox.bound() == 0;
  info.mailbox = is_short ? gen::Mailbox::Bounded(static_cast<int>(info.mailbox_size)).ToString()
                          : cold.mailbox.ToString();
  info.links = cold.links;
  for (const auto& monitor : cold.monitors) info.monitors.push_back(monitor.pid);
  for (const auto& watcher : cold.watchers) info.monitored_by.push_back(watcher.pid);
  info.aliases = cold.aliases;
  info.events = cold.events;
  for (const auto& subscription : cold.subscriptions) {
    info.subscriptions.push_back(subscription.name);
  }
  return info;
}

std::vector<gen::PID> Runtime::ProcessList() const {
  std::vector<gen::PID> list;
  table_.ForEach([&](const Process& process) {
    const gen::PID pid = process.Self();  // first: it changes when the process ends
    if (!process.mailbox_.IsClosed()) list.push_back(pid);
  });
  return list;
}

template <class Counts>
void Runtime::CopyDropped(Counts& counts) const {
  auto dropped = [&](gen::DropReason reason) {
    return dropped_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  };
  counts.dropped_terminated = dropped(gen::DropReason::kTerminated);
  counts.dropped_unknown = dropped(gen::DropReason::kUnknown);
  counts.dropped_mailbox_full = dropped(gen::DropReason::kMailboxFull);
  counts.dropped_expired = dropped(gen::DropReason::kExpired);
}

gen::MessageBalance Runtime::MessageBalance() const {
  gen::MessageBalance balance;
  balance.accepted = accepted_.Sum();
  balance.handled = handled_by_ended_.Sum();
  table_.ForEach([&](const Process& process) {
    balance.accepted += process.counts_.sent();
    balance.handled += process.counts_.handled();
    balance.held += static_cast<std::uint64_t>(process.Rare().held.load(std::memory_order_relaxed));
    balance.queued += static_cast<std::uint64_t>(
        std::max(process.express_queued_.load(std::memory_order_relaxed), 0));
    if (!process.mailbox_.IsClosed()) balance.queued += process.MainMessagesApprox();
  });
  CopyDropped(balance);
  return balance;
}

gen::NodeInfo Runtime::Info() const {
  gen::NodeInfo info;
  info.name = name_;
  info.creation = creation_;
  info.dispatcher = dispatcher_->name();
  info.workers = dispatcher_->workers();
  info.throughput = dispatcher_->throughput();
  info.uptime = std::chrono::nanoseconds(clock_->Now() - started_at_);
  info.processes_ended = ended_.load(std::memory_order_seq_cst);
  info.processes_spawned = spawned_.load(std::memory_order_seq_cst);
  info.processes = info.processes_spawned - info.processes_ended;
  info.processes_failed = failed_.load(std::memory_order_relaxed);
  info.names = names_.size();
  info.aliases = aliases_.size();
  info.timers = timers_->size();
  CopyDropped(info);
  info.drops_not_remembered = drop_memory_.skipped();
  const core::DispatcherStats stats = dispatcher_->Stats();
  info.turns = stats.turns;
  info.steals = stats.steals;
  info.wakeups = stats.wakeups;
  info.blocking_lent = lent_threads_.lent();
  info.blocking_refused = lent_threads_.refused();
  if (watchdog_ != nullptr) info.busy = watchdog_->Busy();
  return info;
}

}  // namespace ergon::node
