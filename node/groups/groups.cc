#include <ergon/node/groups/groups.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/error.h>
#include <ergon/gen/group.h>
#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process_state/first_by_name.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {
namespace {

using Note = ProcessCold::GroupNotes::Note;

std::string Quoted(gen::Atom name) { return "group '" + name.ToString() + "'"; }

gen::Error NoGroupName() { return Incorrect("group: must not be empty"); }

gen::Error NoMembers(gen::Atom name) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, Quoted(name) + " has no members");
}

gen::Error NotAMember(gen::Atom name, gen::PID pid) {
  return gen::Error(gen::ErrorCode::kProcessUnknown, pid.ToString() + " is not in " + Quoted(name));
}

// Under the lock of the cold part.
ProcessCold::GroupNotes& NotesOf(ProcessCold& cold) {
  if (cold.groups == nullptr) cold.groups = std::make_unique<ProcessCold::GroupNotes>();
  return *cold.groups;
}

// Takes the last note about a group, and returns its id; 0: there is none.
std::uint64_t TakeLast(std::vector<Note>& notes, gen::Atom group) {
  const auto found = std::find_if(notes.rbegin(), notes.rend(),
                                  [&](const Note& note) { return note.group == group; });
  if (found == notes.rend()) return 0;
  const std::uint64_t id = found->id;
  notes.erase(std::next(found).base());
  return id;
}

}  // namespace

Groups::Locked Groups::Find(gen::Atom name) const {
  for (;;) {
    Locked found;
    {
      std::shared_lock lock(mutex_);
      const auto at = groups_.find(name);
      if (at == groups_.end()) return {};
      found.group = at->second;
    }
    found.lock = std::unique_lock(found.group->mutex);
    // One that has ended since is not found again.
    if (!found.group->ended) return found;
  }
}

Groups::Locked Groups::FindOrMake(gen::Atom name) {
  for (;;) {
    Locked found = Find(name);
    if (found.group != nullptr) return found;
    std::unique_lock lock(mutex_);
    groups_.try_emplace(name, std::make_shared<Group>());
  }
}

void Groups::EndIfEmpty(gen::Atom name, Group& group) {
  if (!group.members.empty() || !group.monitors.empty()) return;
  group.ended = true;
  std::unique_lock lock(mutex_);
  groups_.erase(name);
}

template <class Notice>
Groups::Notices Groups::MakeNotices(gen::Atom name, const Group& group, const PIDs& pids) const {
  Notices notices;
  notices.reserve(group.monitors.size());
  for (const auto& [id, monitor] : group.monitors) {
    auto notice = core::MakeEnvelope<Notice>(static_cast<std::uint8_t>(gen::EnvelopeKind::kDown),
                                             core::Lane::kSystem, Notice{name, pids});
    notice->from = addresses_.NodePid().ToAddress();
    notice->ref = id;
    notices.emplace_back(monitor, std::move(notice));
  }
  return notices;
}

void Groups::Tell(Notices notices) const {
  // One that has ended needs no notice.
  for (auto& [monitor, notice] : notices) (void)delivery_.Deliver(monitor, notice);
}

gen::Result<void> Groups::Join(gen::Atom name, gen::PID pid) {
  if (name.empty()) return NoGroupName();
  const ProcessSlot* const process = addresses_.Find(pid);
  if (process == nullptr) return addresses_.WhyUnreachable(pid);
  const Locked found = FindOrMake(name);
  Group& group = *found.group;
  const std::uint64_t id = group.newest + 1;
  bool lives = false;
  Notices notices;
  const auto take_back = [&] {
    group.members.erase(id);
    EndIfEmpty(name, group);
  };
  // The note is the last thing that can throw: Release looks for what it names.
  try {
    notices = MakeNotices<gen::MessageGroupJoined>(name, group, {pid});
    group.members.emplace_hint(group.members.end(), id, pid);
    ProcessCold& cold = process->Cold();
    std::lock_guard lock(cold.lock);
    lives = process->IsStill(pid) && !cold.joins_no_group;
    if (lives) NotesOf(cold).memberships.push_back({name, id});
  } catch (...) {
    take_back();
    throw;
  }
  if (!lives) {
    take_back();
    return gen::ErrProcessTerminated;
  }
  ++group.members_here;
  group.newest = id;
  group.snapshot = nullptr;
  Tell(std::move(notices));
  if (transport_ != nullptr) transport_->Joined(name, pid);
  return {};
}

gen::Result<void> Groups::Leave(gen::Atom name, gen::PID pid) {
  if (name.empty()) return NoGroupName();
  const ProcessSlot* const process = addresses_.Find(pid);
  if (process == nullptr) return addresses_.WhyUnreachable(pid);
  const Locked found = Find(name);
  if (found.group == nullptr) return NotAMember(name, pid);
  Group& group = *found.group;
  // Before anything has changed: it may throw.
  Notices notices = MakeNotices<gen::MessageGroupLeft>(name, group, {pid});
  std::uint64_t id = 0;
  if (ProcessCold* const cold = process->ColdIfAny()) {
    std::lock_guard lock(cold->lock);
    // What is left of them is taken at its end.
    if (!process->IsStill(pid)) return gen::ErrProcessTerminated;
    if (cold->groups != nullptr) id = TakeLast(cold->groups->memberships, name);
  }
  if (id == 0) return NotAMember(name, pid);
  group.members.erase(id);
  --group.members_here;
  group.snapshot = nullptr;
  Tell(std::move(notices));
  if (transport_ != nullptr) transport_->Left(name, pid, 1);
  EndIfEmpty(name, group);
  return {};
}

std::shared_ptr<const Groups::PIDs> Groups::MembersOf(Group& group) {
  if (group.snapshot == nullptr) {
    PIDs members;
    members.reserve(group.members.size());
    for (const auto& [id, pid] : group.members) members.push_back(pid);
    group.snapshot = std::make_shared<const PIDs>(std::move(members));
  }
  return group.snapshot;
}

std::shared_ptr<const Groups::PIDs> Groups::MembersOf(gen::Atom name) const {
  const Locked found = Find(name);
  return found.group == nullptr ? std::make_shared<const PIDs>() : MembersOf(*found.group);
}

std::vector<gen::PID> Groups::Members(gen::Atom name) const { return *MembersOf(name); }

std::vector<std::pair<gen::Atom, std::shared_ptr<Groups::Group>>> Groups::WithMembers() const {
  std::vector<std::pair<gen::Atom, std::shared_ptr<Group>>> all;
  {
    std::shared_lock lock(mutex_);
    all.assign(groups_.begin(), groups_.end());
  }
  std::erase_if(all, [](const auto& entry) {
    std::lock_guard lock(entry.second->mutex);
    return entry.second->members.empty();
  });
  return all;
}

std::pair<std::vector<Groups::Info>, std::size_t> Groups::Infos(std::size_t most,
                                                                std::size_t most_members) const {
  auto all = WithMembers();
  const std::size_t in_all = all.size();
  KeepFirstByName(all, most);
  std::vector<Info> infos;
  for (const auto& [name, group] : all) {
    std::lock_guard lock(group->mutex);
    Info& info = infos.emplace_back(Info{.name = name,
                                         .members_in_all = group->members.size(),
                                         .members_here = group->members_here,
                                         .members = {}});
    for (auto at = group->members.begin();
         at != group->members.end() && info.members.size() < most_members; ++at) {
      info.members.push_back(at->second);
    }
  }
  return {std::move(infos), in_all};
}

std::vector<gen::Atom> Groups::Names() const {
  std::vector<gen::Atom> names;
  for (const auto& [name, group] : WithMembers()) names.push_back(name);
  std::sort(names.begin(), names.end(),
            [](gen::Atom left, gen::Atom right) { return left.Text() < right.Text(); });
  return names;
}

gen::Result<gen::PID> Groups::OneOf(gen::Atom name) {
  if (name.empty()) return NoGroupName();
  if (addresses_.IsStopped()) return gen::ErrNodeTerminated;
  const Locked found = Find(name);
  if (found.group == nullptr || found.group->members.empty()) return NoMembers(name);
  Group& group = *found.group;
  auto next = group.members.upper_bound(group.last);
  if (next == group.members.end()) next = group.members.begin();
  group.last = next->first;
  return next->second;
}

gen::Result<std::size_t> Groups::Send(gen::PID from, gen::Atom name,
                                      const std::function<core::EnvelopePtr()>& make,
                                      const std::function<void()>& count) const {
  if (name.empty()) return NoGroupName();
  if (addresses_.IsStopped()) return gen::ErrNodeTerminated;
  std::size_t received = 0;
  // What was for members on nodes that cannot take it.
  struct Refused {
    core::EnvelopePtr envelope;
    gen::PID member;
    gen::Error why;
  };
  std::vector<Refused> refused;
  bool is_for_none = true;  // no node has taken it, or would if it could be reached and had room
  // Without the lock: `make` copies a value of the user's.
  const auto members = MembersOf(name);
  const auto send_to = [&](bool remote) {
    for (const gen::PID member : *members) {
      if (IsRemote(member) != remote) continue;
      core::EnvelopePtr envelope = make();
      envelope->from = from.ToAddress();
      auto delivered = delivery_.Deliver(member, envelope);
      if (delivered) {
        count();
        ++received;
        is_for_none = false;
        continue;
      }
      const gen::Error& error = delivered.error();
      if (remote && (error == gen::ErrUnsupported || error == gen::ErrIncorrect)) {
        refused.push_back({std::move(envelope), member, error});
        continue;
      }
      if (gen::HasReceiverEnded(error)) continue;  // it is leaving the group just now
      count();
      is_for_none = false;
      delivery_.Drop(std::move(envelope), member, gen::DropReasonOf(error), error);
    }
  };
  // Those of other nodes first: that a message cannot go to any of them is known before anybody has got it.
  if (transport_ != nullptr) send_to(true);
  if (is_for_none && !refused.empty()) return std::move(refused.front().why);
  for (Refused& one : refused) {
    count();
    delivery_.Drop(std::move(one.envelope), one.member, gen::DropReasonOf(one.why), one.why);
  }
  send_to(false);
  return received;
}

gen::Result<std::vector<gen::PID>> Groups::Monitor(ProcessSlot& self, gen::Atom name) {
  if (name.empty()) return NoGroupName();
  ProcessCold& cold = self.Cold();
  {
    std::lock_guard lock(cold.lock);
    const auto& monitors = NotesOf(cold).monitors;
    if (std::any_of(monitors.begin(), monitors.end(),
                    [&](const Note& note) { return note.group == name; })) {
      return gen::Error(gen::ErrorCode::kTaken, "monitored already: " + Quoted(name));
    }
  }
  const Locked found = FindOrMake(name);
  Group& group = *found.group;
  const std::uint64_t id = NextUniqueId();
  try {
    PIDs members = *MembersOf(group);
    group.monitors.emplace(id, addresses_.PidOf(self.Id()));
    std::lock_guard lock(cold.lock);
    NotesOf(cold).monitors.push_back({name, id});
    return members;
  } catch (...) {
    group.monitors.erase(id);
    EndIfEmpty(name, group);
    throw;
  }
}

gen::Result<void> Groups::Demonitor(ProcessSlot& self, gen::Atom name) {
  if (name.empty()) return NoGroupName();
  std::uint64_t id = 0;
  if (ProcessCold* const cold = self.ColdIfAny()) {
    std::lock_guard lock(cold->lock);
    if (cold->groups != nullptr) id = TakeLast(cold->groups->monitors, name);
  }
  if (id == 0) return gen::Error(gen::ErrorCode::kProcessUnknown, "not monitored: " + Quoted(name));
  EndMonitor(name, id);
  return {};
}

void Groups::EndMonitor(gen::Atom name, std::uint64_t id) {
  const Locked found = Find(name);
  if (found.group == nullptr) return;
  found.group->monitors.erase(id);
  EndIfEmpty(name, *found.group);
}

bool Groups::IsMonitoredAs(ProcessSlot& self, std::uint64_t id) {
  ProcessCold* const cold = self.ColdIfAny();
  if (cold == nullptr) return false;
  std::lock_guard lock(cold->lock);
  return cold->groups != nullptr &&
         std::any_of(cold->groups->monitors.begin(), cold->groups->monitors.end(),
                     [&](const Note& note) { return note.id == id; });
}

void Groups::Release(gen::PID pid, const ProcessCold::GroupNotes& notes) {
  // First: it needs no notice of its own leaving.
  for (const Note& monitor : notes.monitors) EndMonitor(monitor.group, monitor.id);
  std::vector<Note> memberships = notes.memberships;
  std::stable_sort(memberships.begin(), memberships.end(),
                   [](const Note& left, const Note& right) { return left.group < right.group; });
  for (auto at = memberships.begin(); at != memberships.end();) {
    const gen::Atom name = at->group;
    const auto end =
        std::find_if(at, memberships.end(), [&](const Note& note) { return note.group != name; });
    const Locked found = Find(name);
    std::size_t times = 0;
    for (; at != end; ++at) {
      if (found.group != nullptr) times += found.group->members.erase(at->id);
    }
    if (times == 0) continue;
    found.group->members_here -= times;
    found.group->snapshot = nullptr;
    Tell(MakeNotices<gen::MessageGroupLeft>(name, *found.group, PIDs(times, pid)));
    if (transport_ != nullptr) transport_->Left(name, pid, times);
    EndIfEmpty(name, *found.group);
  }
}

std::vector<std::uint64_t> Groups::JoinFromAfar(gen::Atom name, const PIDs& remote) {
  std::vector<std::uint64_t> memberships;
  if (remote.empty()) return memberships;
  memberships.reserve(remote.size());
  const Locked found = FindOrMake(name);
  Group& group = *found.group;
  for (const gen::PID pid : remote) {
    group.members.emplace_hint(group.members.end(), ++group.newest, pid);
    memberships.push_back(group.newest);
  }
  group.snapshot = nullptr;
  Tell(MakeNotices<gen::MessageGroupJoined>(name, group, remote));
  return memberships;
}

void Groups::LeaveFromAfar(gen::Atom name, const std::vector<std::uint64_t>& memberships) {
  const Locked found = Find(name);
  if (memberships.empty() || found.group == nullptr) return;
  Group& group = *found.group;
  PIDs left;
  left.reserve(memberships.size());
  for (const std::uint64_t membership : memberships) {
    const auto member = group.members.find(membership);
    if (member == group.members.end()) continue;
    left.push_back(member->second);
    group.members.erase(member);
  }
  group.snapshot = nullptr;
  Tell(MakeNotices<gen::MessageGroupLeft>(name, group, left));
  EndIfEmpty(name, group);
}

}  // namespace ergon::node
