#include <ergon/node/diagnosis/inspection.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>

#include <ergon/gen/process_behavior.h>
#include <ergon/node/diagnosis/for_people.h>

namespace ergon::node {
namespace {

// Appends what `of` returns for the first entries, so that there are up to `most`.
template <class Entries, class Of>
void Append(const Entries& entries, std::size_t most, auto& list, Of of) {
  for (const auto& entry : entries) {
    if (list.size() >= most) return;
    list.push_back(of(entry));
  }
}
constexpr auto kPidOf = [](const auto& entry) { return entry.pid; };

void AppendLinks(const ProcessCold& cold, std::size_t most, std::vector<gen::PID>& links) {
  Append(cold.links, most, links, kPidOf);
  Append(cold.named_links, most, links, kPidOf);
  cold.watchers.VisitLinkMakers([&](gen::PID maker) {
    if (links.size() >= most) return false;
    links.push_back(maker);
    return true;
  });
}

}  // namespace

gen::Result<gen::ProcessInfo> Inspection::ProcessInfo(gen::PID pid, std::size_t most) const {
  const ProcessSlot* process = addresses_.Find(pid);
  if (process == nullptr) return addresses_.WhyUnreachable(pid);
  gen::ProcessInfo info;
  info.pid = pid;
  info.state = process->State();
  if (info.state != gen::ProcessState::kReady) {
    info.handles = HandledForPeople(process->activity());
  }
  info.messages_queued = process->MainMessagesApprox();
  info.messages_handled = process->counts().handled();
  info.messages_dropped = process->Rare().expired.Read();
  info.messages_held = process->AsideApprox();
  info.messages_sent = process->counts().sent();
  info.messages_overflowed = process->Rare().overflowed.load(std::memory_order_relaxed);
  info.suspended = process->IsHeld();
  info.mailbox_size = process->mailbox().capacity();
  info.trap_exit = process->end_requests().TrapsExits();
  info.log_level = process->LogLevelOr(log_.Level());
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (!process->IsStill(pid)) {
    return gen::ErrProcessTerminated;
  }
  // Fixed from spawn to end, and the end of the process waits for the lock above.
  info.behavior = gen::BehaviorNameOf(process->behavior());
  info.parent = addresses_.PidOf(process->parent_id());
  info.leader = addresses_.PidOf(process->leader_id());
  if (const auto values = process->environment()) info.environment = *values;
  info.detached = process->detached();
  info.uptime = std::chrono::nanoseconds(clock_.Now() - process->started_at());
  info.running_time =
      std::chrono::nanoseconds(process->Rare().running_ns.load(std::memory_order_relaxed));
  info.turns = process->Rare().turns.load(std::memory_order_relaxed);
  info.name = cold.name;
  if (cold.mailbox.HasQueue()) info.mailbox_size = static_cast<std::uint32_t>(cold.mailbox.bound());
  const bool is_short = info.mailbox_size != 0 && cold.mailbox.bound() == 0;
  info.mailbox = is_short ? gen::Mailbox::Bounded(static_cast<int>(info.mailbox_size)).ToString()
                          : cold.mailbox.ToString();
  if (process->IsPool()) {  // its own is for what missing workers would take
    info.mailbox_size = 0;
    info.mailbox = "those of its workers";
  }
  AppendLinks(cold, most, info.links);
  Append(cold.monitors, most, info.monitors, kPidOf);
  for (const auto& watcher : cold.watchers) {
    if (info.monitored_by.size() >= most) break;
    if (!watcher.is_link) info.monitored_by.push_back(watcher.pid);
  }
  Append(cold.aliases, most, info.aliases, std::identity());
  Append(cold.events, most, info.events, std::identity());
  Append(cold.subscriptions, most, info.subscriptions,
         [](const auto& subscription) { return subscription.event; });
  if (cold.groups != nullptr) {
    Append(cold.groups->memberships, most, info.groups,
           [](const auto& membership) { return membership.group; });
  }
  return info;
}

Inspection::Links Inspection::LinksOf(gen::PID pid, std::size_t most) const {
  Links links;
  const ProcessSlot* const process = addresses_.Find(pid);
  if (process == nullptr) return links;
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (!process->IsStill(pid)) return links;
  AppendLinks(cold, most, links.first);
  links.in_all = cold.links.size() + cold.named_links.size() + cold.watchers.links();
  return links;
}

std::vector<gen::PID> Inspection::ProcessList() const {
  std::vector<gen::PID> list;
  addresses_.table().ForEach([&](const ProcessSlot& process) {
    const gen::PID pid = addresses_.PidOf(process.Id());  // first: it changes when the process ends
    if (!process.mailbox().IsClosed()) list.push_back(pid);
  });
  return list;
}

gen::MessageBalance Inspection::MessageBalance(const std::function<void()>& rest) const {
  constexpr std::uint32_t kSlice = 4'096;  // processes
  gen::MessageBalance balance;
  balance.accepted = totals_.accepted.Sum() + totals_.ended.sent();
  // In this order, as what is lost has been given before.
  const auto lost = totals_.lost_with_connections.Sum();
  balance.sent_to_nodes = totals_.given_to_nodes.Sum() - lost;
  balance.handled = totals_.ended.handled();
  addresses_.table().ForEach([&](const ProcessSlot& process) {
    balance.accepted += process.counts().sent();
    balance.handled += process.counts().handled();
    balance.held += static_cast<std::uint64_t>(process.Rare().held.load(std::memory_order_relaxed));
    balance.queued += process.ExpressQueuedApprox();
    if (!process.mailbox().IsClosed()) balance.queued += process.MainMessagesApprox();
    if (rest && process.index() % kSlice == kSlice - 1) rest();
  });
  drops_.CopyCounts(balance);
  return balance;
}

}  // namespace ergon::node
