#include <ergon/node/links/relations.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <ergon/gen/event.h>
#include <ergon/gen/notices.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/links/stale_signals.h>

namespace ergon::node {
namespace {

// Locks two processes' lists, or one's if they are the same, always in the order of their
// addresses.
class PairLock {
 public:
  PairLock(ProcessCold& one, ProcessCold& other) : first_(&one), second_(&other) {
    if (second_ < first_) std::swap(first_, second_);
    first_->lock.lock();
    if (second_ != first_) second_->lock.lock();
  }
  ~PairLock() {
    if (second_ != first_) second_->lock.unlock();
    first_->lock.unlock();
  }
  PairLock(const PairLock&) = delete;
  PairLock& operator=(const PairLock&) = delete;

 private:
  ProcessCold* first_;
  ProcessCold* second_;
};

// False: it was there already.
bool AddOnce(ProcessCold::Links& links, gen::PID other,
             gen::NoticeOrder order = gen::NoticeOrder::kUsual) {
  if (ProcessCold::Link* const found = links.Find(other)) {
    if (order != gen::NoticeOrder::kUsual) found->order = order;
    return false;
  }
  links.push_back({other, order});
  return true;
}

void MarkInOrder(core::Envelope& notice, bool in_order) {
  if (in_order) notice.flags |= core::Envelope::kFlagInOrder;
}

// Of one of two processes, what is about its links with the other one.
bool EraseLinks(ProcessCold& cold, gen::PID other) {
  (void)cold.watchers.TakeLinksOf(other);
  (void)cold.named_links.TakeIf([&](const auto& link) { return link.pid == other; });
  return cold.links.Remove(other);
}

core::EnvelopePtr MakeNamedExit(const ProcessCold::Watcher& watcher, const gen::Reason& reason) {
  constexpr auto kKind = static_cast<std::uint8_t>(gen::EnvelopeKind::kExit);
  const auto* name = watcher.what.AsProcessID();
  core::EnvelopePtr signal =
      name != nullptr
          ? core::MakeEnvelope<gen::MessageExitProcessID>(kKind, core::Lane::kUrgent, *name, reason)
          : core::MakeEnvelope<gen::MessageExitAlias>(kKind, core::Lane::kUrgent,
                                                      *watcher.what.AsAlias(), reason);
  signal->ref = watcher.ref.id;
  return signal;
}

}  // namespace

void Relations::TellWatcher(const ProcessCold::Watcher& watcher, const gen::Reason& reason,
                            bool in_order) {
  if (watcher.is_link && addresses_.TransportTo(watcher.pid) == nullptr) {
    exit_signals_.Deliver(watcher.pid, MakeNamedExit(watcher, reason));
    return;
  }
  constexpr auto kKind = static_cast<std::uint8_t>(gen::EnvelopeKind::kDown);
  core::EnvelopePtr envelope;
  gen::PID about;
  if (const auto* pid = watcher.what.AsPID()) {
    about = *pid;
    envelope = core::MakeEnvelope<gen::MessageDownPID>(
        kKind, core::Lane::kSystem, gen::MessageDownPID{*pid, watcher.ref, reason});
  } else if (const auto* name = watcher.what.AsProcessID()) {
    envelope = core::MakeEnvelope<gen::MessageDownProcessID>(
        kKind, core::Lane::kSystem, gen::MessageDownProcessID{*name, watcher.ref, reason});
  } else {
    envelope = core::MakeEnvelope<gen::MessageDownAlias>(
        kKind, core::Lane::kSystem,
        gen::MessageDownAlias{*watcher.what.AsAlias(), watcher.ref, reason});
  }
  envelope->from = about.ToAddress();
  envelope->ref = watcher.ref.id;
  MarkInOrder(*envelope, in_order);
  (void)delivery_.Deliver(watcher.pid, envelope);  // a watcher that has ended needs no notice
}

gen::Result<void> Relations::Link(ProcessSlot& self, gen::PID other, gen::NoticeOrder order) {
  const gen::PID me = addresses_.PidOf(self.Id());
  if (other == me) return {};
  Transport* const transport = addresses_.TransportTo(other);
  ProcessSlot* process = addresses_.Find(other);
  if (process != nullptr) {
    ProcessCold& mine = self.Cold();
    ProcessCold& theirs = process->Cold();
    PairLock lock(mine, theirs);
    if (process->IsStill(other)) {
      (void)AddOnce(mine.links, other, order);
      (void)AddOnce(theirs.links, me);
      return {};
    }
  }
  {
    ProcessCold& mine = self.Cold();
    std::lock_guard lock(mine.lock);
    if (!AddOnce(mine.links, other, order)) return {};
  }
  if (transport != nullptr) {
    transport->Link(me, other);
  } else {
    exit_signals_.Send(me, other, gen::Reason::NoProcess(), 0);
  }
  return {};
}

bool Relations::LinkChild(ProcessSlot& child, gen::PID parent) {
  const ProcessSlot* const slot = addresses_.Find(parent);
  if (slot == nullptr) return false;
  ProcessCold& mine = child.Cold();
  ProcessCold& theirs = slot->Cold();
  PairLock lock(mine, theirs);
  if (!slot->IsStill(parent)) return false;
  mine.links.push_back({parent});
  theirs.links.push_back({addresses_.PidOf(child.Id())});
  return true;
}

void Relations::UnlinkUnbegun(ProcessSlot& self, gen::PID parent) {
  {
    ProcessCold& cold = self.Cold();
    std::lock_guard lock(cold.lock);
    cold.ends_with_parent = GenerationOf(addresses_.PidOf(self.Id()));  // for LinkWithParent
  }
  (void)Unlink(self, parent);
}

gen::Result<void> Relations::Unlink(ProcessSlot& self, gen::PID other) {
  const gen::PID me = addresses_.PidOf(self.Id());
  ProcessSlot* process = addresses_.Find(other);
  if (process == nullptr) {
    std::vector<gen::Ref> named;  // links of the other one by names of this one
    bool is_linked = false;
    {
      ProcessCold& mine = self.Cold();
      std::lock_guard lock(mine.lock);
      for (const auto& watcher : mine.watchers.TakeLinksOf(other)) named.push_back(watcher.ref);
      is_linked = EraseLinks(mine, other);
    }
    if (Transport* const transport = addresses_.TransportTo(other)) {
      if (is_linked) transport->Unlink(me, other);
      for (const gen::Ref& ref : named) transport->EndLinkOf(other, ref);
    }
    return {};
  }
  ProcessCold& mine = self.Cold();
  ProcessCold& theirs = process->Cold();
  PairLock lock(mine, theirs);
  EraseLinks(mine, other);
  if (process->HasProcess(other)) EraseLinks(theirs, me);
  return {};
}

gen::Ref Relations::Monitor(ProcessSlot& self, const gen::Target& target, gen::PID pid,
                            gen::NoticeOrder order) {
  const gen::Ref ref = addresses_.MakeRef();
  const gen::PID me = addresses_.PidOf(self.Id());
  {
    std::lock_guard lock(self.Cold().lock);
    self.Cold().monitors.push_back({pid, ref, order});
  }
  const ProcessCold::Watcher watcher{me, ref, target};
  if (Transport* const transport = addresses_.TransportTo(pid)) {
    transport->Monitor(me, pid, ref);
  } else if (!AddWatcher(watcher, pid)) {
    TellWatcher(watcher, gen::Reason::NoProcess());
  }
  return ref;
}

core::EnvelopePtr Relations::TakeLostLink(gen::PID local, gen::PID remote, bool in_order) {
  ProcessSlot* const process = addresses_.Find(local);
  if (process == nullptr) return nullptr;
  ProcessCold& theirs = process->Cold();
  const gen::Ref ref = addresses_.MakeRef();
  {
    std::lock_guard lock(theirs.lock);
    const ProcessCold::Link* const link = theirs.links.Find(remote);
    if (!process->IsStill(local) || link == nullptr) return nullptr;
    theirs.named_links.push_back({remote, ref, remote, link->order});
    theirs.links.Remove(remote);
  }
  core::EnvelopePtr signal = MakeLossSignal(remote, ref);
  MarkInOrder(*signal, in_order);
  return signal;
}

bool Relations::AddWatcher(const ProcessCold::Watcher& watcher, gen::PID pid) {
  ProcessSlot* process = addresses_.Find(pid);
  if (process == nullptr) return false;
  ProcessCold& theirs = process->Cold();
  {
    std::lock_guard lock(theirs.lock);
    if (!process->IsStill(pid)) return false;
    theirs.watchers.push_back(watcher);
  }
  if (watcher.what.AsPID() != nullptr) return true;
  // A name or an alias may have been taken away since the look-up. Partners: Registry, which
  // takes it away before the watchers, or with them. Whoever takes the entry tells.
  auto now = addresses_.Resolve(watcher.what);
  if (now && *now == pid) return true;
  std::lock_guard lock(theirs.lock);
  return !theirs.watchers.Remove(watcher.ref.id);
}

void Relations::RemoveWatcher(gen::PID by, gen::PID pid, gen::Ref ref) {
  if (const ProcessSlot* process = addresses_.Find(pid)) {
    ProcessCold* const theirs = process->ColdIfAny();
    if (theirs == nullptr) return;
    std::lock_guard lock(theirs->lock);
    theirs->watchers.Remove(ref.id);
  } else if (Transport* const transport = addresses_.TransportTo(pid)) {
    transport->Demonitor(by, pid, ref);
  }
}

bool Relations::LinkFromAfar(gen::PID local, gen::PID remote) {
  ProcessSlot* const process = addresses_.Find(local);
  if (process == nullptr) return false;
  ProcessCold& theirs = process->Cold();
  std::lock_guard lock(theirs.lock);
  if (!process->IsStill(local)) return false;
  (void)AddOnce(theirs.links, remote);
  return true;
}

bool Relations::NoteMonitor(gen::PID local, gen::PID remote, gen::Ref ref) {
  ProcessSlot* const process = addresses_.Find(local);
  if (process == nullptr) return false;
  ProcessCold& mine = process->Cold();
  std::lock_guard lock(mine.lock);
  if (!process->IsStill(local)) return false;
  mine.monitors.push_back({remote, ref});
  return true;
}

void Relations::ForgetSpawned(gen::PID local, gen::PID remote, gen::Ref ref) {
  ProcessSlot* const process = addresses_.Find(local);
  if (process == nullptr) return;
  ProcessCold& mine = process->Cold();
  std::lock_guard lock(mine.lock);
  if (!process->IsStill(local)) return;
  mine.links.Remove(remote);
  mine.monitors.Remove(ref.id);
}

void Relations::UnlinkFromAfar(gen::PID local, gen::PID remote) {
  ProcessSlot* const process = addresses_.Find(local);
  if (process == nullptr) return;
  ProcessCold& theirs = process->Cold();
  std::lock_guard lock(theirs.lock);
  if (process->IsStill(local)) theirs.links.Remove(remote);
}

gen::Result<void> Relations::Demonitor(ProcessSlot& self, gen::Ref ref) {
  gen::PID pid;
  {
    ProcessCold& mine = self.Cold();
    std::lock_guard lock(mine.lock);
    const auto* const found = mine.monitors.Find(ref.id);
    if (found == nullptr || found->ref != ref) {
      return gen::Error(gen::ErrorCode::kProcessUnknown, "no monitor " + ref.ToString());
    }
    pid = found->pid;
    mine.monitors.Remove(ref.id);
  }
  RemoveWatcher(addresses_.PidOf(self.Id()), pid, ref);
  return {};
}

bool Relations::TakeLinkOf(ProcessSlot& self, const core::Envelope& exit) {
  if (core::IsType<gen::MessageExitEvent>(exit.type)) return TakeSubscription(self, exit.ref);
  ProcessCold* cold = self.ColdIfAny();
  if (cold == nullptr) return false;
  std::lock_guard lock(cold->lock);
  if (!IsOfPids(exit)) return cold->named_links.Remove(exit.ref);
  const gen::PID from = gen::PID::FromAddress(exit.from);
  if (!cold->links.Remove(from)) return false;
  if (from == addresses_.PidOf(self.parent_id())) {
    cold->ends_with_parent = GenerationOf(addresses_.PidOf(self.Id()));
  }
  return true;
}

Relations::ParentLink Relations::LinkWithParent(ProcessSlot& process, gen::PID pid,
                                                gen::PID& parent) const {
  ProcessCold* const cold = process.ColdIfAny();
  if (cold == nullptr) return ParentLink::kNone;
  std::lock_guard lock(cold->lock);
  parent = addresses_.PidOf(process.parent_id());
  if (!process.IsStill(pid)) return ParentLink::kEnding;
  if (cold->ends_with_parent == GenerationOf(pid)) return ParentLink::kEnding;
  return cold->links.Find(parent) == nullptr ? ParentLink::kNone : ParentLink::kIsThere;
}

bool Relations::IsInOrder(ProcessSlot& self, const core::Envelope& notice) {
  const bool is_marked = (notice.flags & core::Envelope::kFlagInOrder) != 0;
  const bool is_exit = KindOf(notice) == gen::EnvelopeKind::kExit;
  if (is_exit && notice.ref == gen::kExplicitExit) return is_marked;
  ProcessCold* const cold = self.ColdIfAny();
  if (cold == nullptr) return false;
  const auto is_wanted = [is_marked](const auto* found) {
    if (found == nullptr) return false;  // it is stale
    return found->order == gen::NoticeOrder::kInOrder ||
           (found->order == gen::NoticeOrder::kUsual && is_marked);
  };
  std::lock_guard lock(cold->lock);
  if (!is_exit) return is_wanted(cold->monitors.Find(notice.ref));
  if (!IsOfPids(notice)) return is_wanted(cold->named_links.Find(notice.ref));
  return is_wanted(cold->links.Find(gen::PID::FromAddress(notice.from)));
}

bool Relations::TakeMonitor(ProcessSlot& self, std::uint64_t ref) {
  ProcessCold* cold = self.ColdIfAny();
  if (cold == nullptr) return false;
  std::lock_guard lock(cold->lock);
  return cold->monitors.Remove(ref);
}

bool Relations::TakeSubscription(ProcessSlot& self, std::uint64_t id) {
  ProcessCold* cold = self.ColdIfAny();
  if (cold == nullptr) return false;
  std::lock_guard lock(cold->lock);
  return cold->subscriptions.Remove(id);
}

void Relations::ReleaseTarget(ProcessSlot& self, gen::PID pid, const gen::Target& target) {
  ProcessCold* cold = self.ColdIfAny();
  if (cold == nullptr) return;
  std::vector<ProcessCold::Watcher> told;
  {
    std::lock_guard lock(cold->lock);
    if (!self.HasProcess(pid)) return;
    told = cold->watchers.TakeOf(target.Tag());
  }
  TellUnregistered(told);
}

void Relations::TellUnregistered(const std::vector<ProcessCold::Watcher>& watchers) {
  for (const auto& watcher : watchers) TellWatcher(watcher, gen::Reason::Unregistered());
}

std::optional<Relations::ClosedLists> Relations::Close(ProcessSlot& self) {
  ProcessCold* cold = self.CloseRelations();
  if (cold == nullptr) return std::nullopt;
  std::optional<ClosedLists> closed(std::in_place);
  std::lock_guard lock(cold->lock);
  closed->links.swap(cold->links);
  closed->watchers.swap(cold->watchers);
  closed->monitors.swap(cold->monitors);
  closed->named_links.swap(cold->named_links);
  return closed;
}

void Relations::TellWatchers(const ClosedLists& closed, const gen::Reason& reason) {
  for (const auto& watcher : closed.watchers) TellWatcher(watcher, reason);
}

void Relations::TellLinks(const ClosedLists& closed, gen::PID pid, gen::PID parent,
                          const gen::Reason& reason) {
  for (const auto& monitor : closed.monitors) RemoveWatcher(pid, monitor.pid, monitor.ref);
  for (const auto& link : closed.links) {
    exit_signals_.Send(link.pid, pid, reason, link.pid == parent ? gen::kChildExit : 0);
  }
  for (const auto& link : closed.named_links) {
    if (Transport* const transport = addresses_.TransportTo(link.pid)) {
      transport->ExitByName(pid, link.pid, link.ref, reason);
    } else if (TurnIntoLink(link.pid, link.ref, pid)) {
      exit_signals_.Send(link.pid, pid, reason, 0);
    }
  }
}

}  // namespace ergon::node
