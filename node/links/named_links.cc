// Links by a name or an alias.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <ergon/node/delivery/transport.h>
#include <ergon/node/links/relations.h>

namespace ergon::node {
namespace {

// The same name or alias. A name without a node is one of `own`.
bool IsSame(const gen::Target& one, const gen::Target& other, gen::Atom own) {
  if (const auto* alias = one.AsAlias()) {
    return other.AsAlias() != nullptr && *other.AsAlias() == *alias;
  }
  const auto* name = one.AsProcessID();
  const auto* name_of_other = other.AsProcessID();
  const auto node_of = [own](const gen::ProcessID& id) { return id.node.empty() ? own : id.node; };
  return name != nullptr && name_of_other != nullptr && name_of_other->name == name->name &&
         node_of(*name_of_other) == node_of(*name);
}

}  // namespace

gen::Result<void> Relations::LinkByName(ProcessSlot& self, const gen::Target& target,
                                        gen::PID other, gen::NoticeOrder order) {
  const gen::PID me = addresses_.PidOf(self.Id());
  if (other == me) return {};
  const ProcessCold::Watcher watcher{me, addresses_.MakeRef(), target, true};
  {
    ProcessCold& mine = self.Cold();
    std::lock_guard lock(mine.lock);
    // Of another node: the PID that stands for the name or the alias may be another one by now.
    const bool is_far = other.node != addresses_.node();
    const auto linked =
        std::find_if(mine.named_links.begin(), mine.named_links.end(), [&](const auto& link) {
          return (is_far ? link.pid.node == other.node : link.pid == other) &&
                 IsSame(link.what, target, addresses_.node());
        });
    if (linked != mine.named_links.end()) {
      if (order != gen::NoticeOrder::kUsual) linked->order = order;
      return {};
    }
    mine.named_links.push_back({other, watcher.ref, target, order});
  }
  if (Transport* const transport = addresses_.TransportTo(other)) {
    auto linked = transport->LinkByName(me, other, watcher.ref);
    if (!linked) ForgetLinkByName(me, watcher.ref);
    return linked;
  }
  if (!AddWatcher(watcher, other)) TellWatcher(watcher, gen::Reason::NoProcess());
  return {};
}

void Relations::LoseLinkByName(gen::PID local, gen::Ref ref, const gen::Reason& reason) {
  ProcessSlot* const process = addresses_.Find(local);
  ProcessCold* const cold = process == nullptr ? nullptr : process->ColdIfAny();
  if (cold == nullptr) return;
  ProcessCold::Watcher watcher{local, ref, local, true};
  {
    std::lock_guard lock(cold->lock);
    auto* const found = cold->named_links.Find(ref.id);
    if (!process->IsStill(local) || found == nullptr) return;
    watcher.what = found->what;
    found->pid = {};  // one that is made anew is another link
  }
  TellWatcher(watcher, reason);
}

void Relations::ForgetLinkByName(gen::PID local, gen::Ref ref) {
  ProcessSlot* const process = addresses_.Find(local);
  ProcessCold* const cold = process == nullptr ? nullptr : process->ColdIfAny();
  if (cold == nullptr) return;
  std::lock_guard lock(cold->lock);
  if (process->IsStill(local)) cold->named_links.Remove(ref.id);
}

void Relations::EndOfMaker(gen::PID local, gen::Ref ref, gen::PID maker,
                           const gen::Reason& reason) {
  if (TurnIntoLink(local, ref, maker)) exit_signals_.Send(local, maker, reason, 0);
}

void Relations::LoseMaker(gen::PID local, gen::Ref ref, gen::PID maker) {
  ProcessSlot* const process = addresses_.Find(local);
  ProcessCold* const cold = process == nullptr ? nullptr : process->ColdIfAny();
  if (cold == nullptr) return;
  const gen::Ref lost = addresses_.MakeRef();
  {
    std::lock_guard lock(cold->lock);
    if (!process->IsStill(local) || !cold->watchers.Remove(ref.id)) return;
    // A link of the two PIDs is told of for itself, or has been made anew since.
    if (cold->links.Find(maker) != nullptr) return;
    cold->named_links.push_back({maker, lost, maker, gen::NoticeOrder::kUsual});
  }
  exit_signals_.Deliver(local, MakeLossSignal(maker, lost));
}

bool Relations::UnlinkByName(ProcessSlot& self, const gen::Target& target) {
  std::vector<ProcessCold::NamedLink> ended;  // several, if others had the name before
  {
    ProcessCold& mine = self.Cold();
    std::lock_guard lock(mine.lock);
    ended = mine.named_links.TakeIf(
        [&](const auto& link) { return IsSame(link.what, target, addresses_.node()); });
  }
  const gen::PID me = addresses_.PidOf(self.Id());
  for (const auto& link : ended) RemoveWatcher(me, link.pid, link.ref);
  return !ended.empty();
}

bool Relations::TurnIntoLink(gen::PID other, gen::Ref ref, gen::PID maker) {
  const ProcessSlot* process = addresses_.Find(other);
  ProcessCold* const theirs = process == nullptr ? nullptr : process->ColdIfAny();
  if (theirs == nullptr) return false;
  std::lock_guard lock(theirs->lock);
  if (!process->HasProcess(other) || !theirs->watchers.Remove(ref.id)) return false;
  if (theirs->links.Find(maker) == nullptr)
    theirs->links.push_back({maker, gen::NoticeOrder::kUsual});
  return true;
}

}  // namespace ergon::node
