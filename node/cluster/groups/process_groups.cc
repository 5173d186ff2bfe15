#include <ergon/node/cluster/groups/process_groups.h>

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/cluster/handshake/node_names.h>
#include <ergon/node/cluster/signals/common_signals.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {
namespace {

constexpr std::size_t kNameBytes = 200;    // of a term in a log line
constexpr std::size_t kBytesOfGroup = 16;  // in a message, beside its name and its members

// Beside the control tuple, which has two PIDs; the words around the members are less than the rest.
constexpr std::size_t MostPayloadBytes(std::size_t frame) {
  constexpr std::size_t kHead = 2 * (gen::Atom::kMaxBytes + 32) + 128;
  return frame < 2 * kHead ? frame / 2 : frame - kHead;
}

}  // namespace

// ---- what is told to other nodes

void ProcessGroups::Joined(gen::Atom group, gen::PID local) {
  const bool is_told = IsGroupOfErlang(group);
  std::lock_guard lock(mutex_);
  if (!is_told) {
    if (!std::exchange(has_kept_one_, true)) {
      gen::Log(needs_.log)
          .Warning("network: groups whose names are not UTF-8, as {}, are not shown to other nodes",
                   Quoted(group.Text()));
    }
    return;
  }
  local_[group].insert(local);
  if (told_.empty()) return;
  std::string payload;
  AppendJoin(payload, needs_.self, group, {&local, 1});
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
  const std::size_t most =
      MembersThatFit(MostPayloadBytes(needs_.max_frame_bytes), needs_.self.node);
  for (std::size_t rest = times; rest != 0;) {
    const std::size_t now = std::min(rest, most);
    std::string payload;
    AppendLeave(payload, needs_.self, group, local, now);
    for (const auto& [node, scope] : told_) SendTo(node, scope, payload);
    rest -= now;
  }
}

bool ProcessGroups::FitIntoOne() const {
  std::size_t bytes = 0;
  for (const auto& [group, pids] : local_) {
    bytes +=
        kBytesOfGroup + group.Text().size() + pids.size() * (15 + needs_.self.node.Text().size());
  }
  return bytes <= MostPayloadBytes(needs_.max_frame_bytes);
}

void ProcessGroups::SendSync(gen::Atom node, gen::PID scope) {
  std::lock_guard lock(mutex_);
  told_[node] = scope;
  std::string payload;
  if (FitIntoOne()) {
    AppendSync(payload, needs_.self, local_);
    SendTo(node, scope, payload);
    return;
  }
  // The message says that there are no members, and then they join.
  AppendSync(payload, needs_.self, {});
  SendTo(node, scope, payload);
  const std::size_t most =
      MembersThatFit(MostPayloadBytes(needs_.max_frame_bytes), needs_.self.node);
  for (const auto& [group, pids] : local_) {
    const std::vector<gen::PID> all(pids.begin(), pids.end());
    for (std::size_t at = 0; at < all.size(); at += most) {
      payload.clear();
      AppendJoin(payload, needs_.self, group,
                 std::span(all).subspan(at, std::min(most, all.size() - at)));
      SendTo(node, scope, payload);
    }
  }
}

void ProcessGroups::Answer(gen::Atom node, Peer& peer) {
  {
    std::lock_guard lock(mutex_);
    const auto told = told_.find(node);
    // What has changed since then was told as well, or is on its way.
    if (told != told_.end() && told->second == peer.scope) return;
  }
  if (std::exchange(peer.was_told_lately, true)) {
    peer.is_to_be_told = true;
    return;
  }
  SendSync(node, peer.scope);
  needs_.remind();
}

void ProcessGroups::SendTo(gen::Atom node, gen::PID scope, std::string_view payload) {
  needs_.send(node, MessageTo(scope, needs_.self, payload));
}

void ProcessGroups::Ask(gen::Atom node, const Peer& peer) {
  std::string payload;
  AppendDiscover(payload, needs_.self);
  needs_.send(node, peer.scope.node.empty() ? MessageToName(kGroupScope, needs_.self, payload)
                                            : MessageTo(peer.scope, needs_.self, payload));
}

// ---- other nodes

void ProcessGroups::Connected(gen::Atom node) {
  peers_.erase(node);
  Peer& peer = peers_.try_emplace(node, needs_.members).first->second;
  Ask(node, peer);
  needs_.remind();
}

std::uint64_t ProcessGroups::Looks() const noexcept {
  std::uint64_t looks = 0;
  for (const auto& [node, peer] : peers_) looks += peer.members.Looks();
  return looks;
}

void ProcessGroups::Lost(gen::Atom node) {
  const auto found = peers_.find(node);
  if (found == peers_.end()) return;
  Forget(node, found->second);
  peers_.erase(found);
}

bool ProcessGroups::AskAgain() {
  bool asked = false;
  for (auto& [node, peer] : peers_) {
    peer.was_told_lately = std::exchange(peer.is_to_be_told, false);
    if (peer.was_told_lately) {
      SendSync(node, peer.scope);
      asked = true;
    }
    if (peer.has_answered) continue;
    Ask(node, peer);
    asked = true;
  }
  return asked;
}

std::string ProcessGroups::Reference(std::uint64_t number) const {
  return ReferenceOf(number, needs_.self.node, needs_.self.creation);
}

void ProcessGroups::Meet(gen::Atom node, Peer& peer, gen::PID scope) {
  if (!peer.scope.node.empty()) {
    // The scope process was started anew, and the end of the former one has not been told yet.
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
  peer.members.Clear();
  peer.scope = {};
  peer.monitor = 0;
  peer.has_answered = false;
  peer.is_to_be_told = false;
}

bool ProcessGroups::HandleDown(gen::Atom node, std::uint64_t number) {
  const auto found = peers_.find(node);
  if (found == peers_.end() || found->second.monitor != number || number == 0) return false;
  Forget(node, found->second);
  // Its supervisor may have started another process already.
  Ask(node, found->second);
  needs_.remind();
  return true;
}

bool ProcessGroups::Handle(gen::Atom node, std::string_view term) {
  const auto message = ReadGroupMessage(term, node, needs_.max_term_depth);
  if (!message) return false;
  const auto found = peers_.find(node);
  if (found == peers_.end()) return true;
  if (message->of_another) {
    needs_.not_believed(node, *message->of_another);
  } else {
    HandleMessage(node, found->second, *message);
  }
  return true;
}

void ProcessGroups::HandleMessage(gen::Atom node, Peer& peer, const GroupMessage& message) {
  switch (message.kind) {
    case GroupMessage::Kind::kDiscover:
      if (peer.scope != message.peer) Meet(node, peer, message.peer);
      Answer(node, peer);
      if (!peer.has_answered && !peer.is_to_be_told) Ask(node, peer);
      return;
    case GroupMessage::Kind::kSync:
      if (peer.scope != message.peer) Meet(node, peer, message.peer);
      HandleSync(node, peer, message);
      return;
    case GroupMessage::Kind::kJoin:
    case GroupMessage::Kind::kLeave:
      break;
  }
  // The message is from a scope process that has ended, or that has not told its members yet.
  if (peer.scope != message.peer || !peer.has_answered) return;
  if (message.kind == GroupMessage::Kind::kJoin) {
    for (const auto& group : GroupsOf(node, peer, message)) {
      peer.members.Join(group.name, group.pids);
    }
    return;
  }
  peer.members.Leave(message);
}

void ProcessGroups::HandleSync(gen::Atom node, Peer& peer, const GroupMessage& message) {
  peer.has_answered = true;
  MembersByGroup now;
  for (const auto& group : GroupsOf(node, peer, message)) {
    now[group.name].insert(group.pids.begin(), group.pids.end());
  }
  peer.members.Set(std::move(now));
}

std::vector<ProcessGroups::KnownGroup> ProcessGroups::GroupsOf(gen::Atom node, Peer& peer,
                                                               const GroupMessage& message) {
  const auto note = [&](auto&& what) {
    if (std::exchange(peer.has_left_out, true)) return;
    if (const auto more = left_out_lines_.Take()) {
      gen::Log(needs_.log)
          .Info("network: {} has groups whose names cannot be atoms here; they are left out: {}{}",
                node, what(), *more);
    }
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
