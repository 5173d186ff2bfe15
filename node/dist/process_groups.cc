#include <ergon/node/dist/process_groups.h>

#include <iterator>
#include <set>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/dist/monitor_signals.h>
#include <ergon/node/dist/references.h>
#include <ergon/node/erlang_term.h>
#include <ergon/node/slots/unique_id.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kNameBytes = 200;  // of a term in a log line

}  // namespace

// ---- what is told to other nodes

void ProcessGroups::Joined(gen::Atom group, gen::PID local) {
  const bool is_told = IsGroupOfErlang(group);
  std::lock_guard lock(mutex_);
  if (!is_told) {
    if (!std::exchange(has_kept_one_, true)) {
      gen::Log(needs_.log)
          .Warning(
              "network: a group whose name is not UTF-8 stays on this node, as any other such");
    }
    return;
  }
  local_[group].insert(local);
  if (told_.empty()) return;
  std::string payload;
  AppendJoin(payload, needs_.self, group, local);
  for (const auto& [node, scope] : told_) SendTo(node, scope, payload);
}

void ProcessGroups::Left(gen::Atom group, gen::PID local, std::size_t times) {
  std::lock_guard lock(mutex_);
  const auto members = local_.find(group);
  if (members == local_.end()) return;
  for (std::size_t i = 0; i < times; ++i) {
    const auto member = members->second.find(local);
    if (member != members->second.end()) members->second.erase(member);
  }
  if (members->second.empty()) local_.erase(members);
  if (told_.empty()) return;
  std::string payload;
  AppendLeave(payload, needs_.self, group, local, times);
  for (const auto& [node, scope] : told_) SendTo(node, scope, payload);
}

void ProcessGroups::SendSync(gen::Atom node, gen::PID scope) {
  std::lock_guard lock(mutex_);
  std::string payload;
  AppendSync(payload, needs_.self, local_);
  SendTo(node, scope, payload);
  told_[node] = scope;
}

void ProcessGroups::SendTo(gen::Atom node, gen::PID scope, std::string_view payload) {
  Signal signal;
  signal.kind = SignalKind::kSend;
  signal.from = needs_.self;
  signal.to = scope;
  signal.payload = payload;
  needs_.send(node, signal);
}

void ProcessGroups::Ask(gen::Atom node, const Peer& peer) {
  std::string payload;
  AppendDiscover(payload, needs_.self);
  if (!peer.scope.node.empty()) {
    SendTo(node, peer.scope, payload);
    return;
  }
  Signal signal;
  signal.kind = SignalKind::kSendToName;
  signal.from = needs_.self;
  signal.name = kGroupScope;
  signal.payload = payload;
  needs_.send(node, signal);
}

// ---- other nodes

void ProcessGroups::Connected(gen::Atom node) {
  Peer& peer = peers_[node] = {};
  Ask(node, peer);
  needs_.remind();
}

void ProcessGroups::Lost(gen::Atom node) {
  const auto found = peers_.find(node);
  if (found == peers_.end()) return;
  Forget(node, found->second);
  peers_.erase(found);
}

bool ProcessGroups::AskAgain() {
  bool asked = false;
  for (const auto& [node, peer] : peers_) {
    if (peer.has_answered) continue;
    Ask(node, peer);
    asked = true;
  }
  return asked;
}

std::string ProcessGroups::Reference(std::uint64_t number) const {
  std::string bytes;
  AppendReference(bytes, number, needs_.self.node, needs_.self.creation);
  return bytes;
}

void ProcessGroups::Meet(gen::Atom node, Peer& peer, gen::PID scope) {
  if (!peer.scope.node.empty()) {
    // It was started anew, and the end of the former one has not been told yet.
    const std::string former = Reference(peer.monitor);
    needs_.send(node, EndOfMonitor(needs_.self, peer.scope, former));
    Forget(node, peer);
  }
  peer.scope = scope;
  peer.monitor = node::NextUniqueId();
  const std::string reference = Reference(peer.monitor);
  needs_.send(node, MonitorOf(needs_.self, scope, reference));
}

void ProcessGroups::Forget(gen::Atom node, Peer& peer) {
  {
    std::lock_guard lock(mutex_);
    told_.erase(node);
  }
  for (const auto& [group, memberships] : std::exchange(peer.groups, {})) {
    std::vector<std::uint64_t> all;
    all.reserve(memberships.size());
    for (const auto& [pid, membership] : memberships) all.push_back(membership);
    needs_.members.LeaveFromAfar(group, all);
  }
  peer.scope = {};
  peer.monitor = 0;
  peer.has_answered = false;
}

bool ProcessGroups::TakeDown(gen::Atom node, std::uint64_t number) {
  const auto found = peers_.find(node);
  if (found == peers_.end() || found->second.monitor != number || number == 0) return false;
  Forget(node, found->second);
  // Its supervisor may have started another one already.
  Ask(node, found->second);
  needs_.remind();
  return true;
}

bool ProcessGroups::Take(gen::Atom node, std::string_view term) {
  const auto message = ReadGroupMessage(term, node, needs_.max_term_depth);
  if (!message) return false;
  const auto found = peers_.find(node);
  if (found == peers_.end()) return true;
  Peer& peer = found->second;
  switch (message->kind) {
    case GroupMessage::Kind::kDiscover:
      if (peer.scope != message->peer) Meet(node, peer, message->peer);
      SendSync(node, message->peer);
      if (!peer.has_answered) Ask(node, peer);
      return true;
    case GroupMessage::Kind::kSync:
      if (peer.scope != message->peer) Meet(node, peer, message->peer);
      TakeSync(node, peer, *message);
      return true;
    case GroupMessage::Kind::kJoin:
    case GroupMessage::Kind::kLeave:
      break;
  }
  // Of one who is gone, or has not told yet who is there.
  if (peer.scope != message->peer || !peer.has_answered) return true;
  if (message->kind == GroupMessage::Kind::kJoin) {
    for (const auto& group : GroupsOf(node, peer, *message)) Join(peer, group.name, group.pids);
    return true;
  }
  for (const GroupMessage::Group& group : message->groups) {
    const auto name = gen::Atom::Find(group.name);
    if (name) Leave(peer, *name, message->pids);
  }
  return true;
}

void ProcessGroups::TakeSync(gen::Atom node, Peer& peer, const GroupMessage& message) {
  peer.has_answered = true;
  MembersByGroup now;
  for (const auto& group : GroupsOf(node, peer, message)) {
    now[group.name].insert(group.pids.begin(), group.pids.end());
  }
  // What has changed since it has told us before.
  MembersByGroup left;
  for (const auto& [group, memberships] : peer.groups) {
    for (const auto& [pid, membership] : memberships) {
      const auto members = now.find(group);
      const auto member =
          members == now.end() ? std::multiset<gen::PID>::iterator() : members->second.find(pid);
      if (members == now.end() || member == members->second.end()) {
        left[group].insert(pid);
      } else {
        members->second.erase(member);  // it is there already
      }
    }
  }
  for (const auto& [group, pids] : left) Leave(peer, group, {pids.begin(), pids.end()});
  for (const auto& [group, pids] : now) Join(peer, group, {pids.begin(), pids.end()});
}

void ProcessGroups::Join(Peer& peer, gen::Atom group, const std::vector<gen::PID>& pids) {
  if (pids.empty()) return;
  const std::vector<std::uint64_t> joined = needs_.members.JoinFromAfar(group, pids);
  Memberships& memberships = peer.groups[group];
  for (std::size_t i = 0; i < pids.size(); ++i) memberships.emplace(pids[i], joined[i]);
}

void ProcessGroups::Leave(Peer& peer, gen::Atom group, const std::vector<gen::PID>& pids) {
  const auto found = peer.groups.find(group);
  if (found == peer.groups.end()) return;
  Memberships& memberships = found->second;
  std::vector<std::uint64_t> left;
  for (const gen::PID pid : pids) {
    // The last one goes first, as on one node.
    const auto behind = memberships.upper_bound(pid);
    if (behind == memberships.begin() || std::prev(behind)->first != pid) continue;
    left.push_back(std::prev(behind)->second);
    memberships.erase(std::prev(behind));
  }
  if (memberships.empty()) peer.groups.erase(found);
  if (!left.empty()) needs_.members.LeaveFromAfar(group, left);
}

std::vector<ProcessGroups::KnownGroup> ProcessGroups::GroupsOf(gen::Atom node, Peer& peer,
                                                               const GroupMessage& message) {
  const auto note = [&](auto&& what) {
    if (std::exchange(peer.has_left_out, true)) return;
    gen::Log(needs_.log)
        .Info("network: a group of {} is left out, as all whose names can be none here: {}", node,
              what());
  };
  if (!message.left_out.empty()) {
    note([&] { return Term::FromChecked(std::string(message.left_out)).ToString(kNameBytes); });
  }
  std::vector<KnownGroup> groups;
  for (const GroupMessage::Group& group : message.groups) {
    const auto name = needs_.atoms.Make(group.name);
    if (name) {
      groups.push_back({*name, group.pids});
    } else {
      note([&] {
        return fmt::format("{}: {}", Term::Atom(group.name).ToString(kNameBytes), name.error());
      });
    }
  }
  return groups;
}

}  // namespace ergon::dist
