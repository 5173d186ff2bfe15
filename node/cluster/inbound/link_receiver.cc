#include <ergon/node/cluster/inbound/link_receiver.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <ergon/gen/atom.h>
#include <ergon/gen/notices.h>
#include <ergon/gen/target.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/inbound/message_target.h>
#include <ergon/node/cluster/signals/common_signals.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/link_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {
namespace {

bool IsAtom(std::string_view term, std::string_view text, std::size_t max_depth) {
  std::string_view found;
  return ControlReader(term, max_depth).ReadAtom(found) && found == text;
}

// The end of the process that was asked, as the answer to the request.
gen::Error EndOf(const gen::Reason& reason) {
  switch (reason.kind()) {
    case gen::ReasonKind::kNoProcess:
      return gen::ErrProcessUnknown;
    case gen::ReasonKind::kNoConnection:
      return gen::ErrNoConnection;
    default:
      return gen::Error(gen::ErrorCode::kProcessTerminated, reason.ToString());
  }
}

}  // namespace

gen::PID LinkReceiver::FindName(std::string_view name) const {
  const std::optional<gen::Atom> atom = gen::Atom::Find(name);
  return atom ? needs_.addresses.names().Find(*atom) : gen::PID();
}

void LinkReceiver::HandleMonitor(Connection& connection, const Signal& signal) {
  PeerWatcher watcher{node::NextUniqueId(), signal.from, signal.to};
  if (!signal.name.empty()) watcher.watched = FindName(signal.name);
  // What answers for these names lives as long as the connection.
  const bool is_for_node = signal.name == kNetKernel || signal.name == RemoteCode::kCalls;
  // The names that others ask for make no atoms.
  if (watcher.watched || is_for_node) watcher.name = signal.name;
  {
    const auto lock = connection.Lock();
    if (!connection.peer_state().watchers.Add(watcher, signal.ref)) return;
  }
  if (watcher.watched == needs_.addresses.NodePid()) {
    return;  // the node speaks for its groups, and lives as long as the connection
  }
  if (watcher.watched) {
    const gen::Target target =
        signal.name.empty() ? gen::Target(watcher.watched)
                            : gen::Target(gen::ProcessID{watcher.name, needs_.settings.node});
    const gen::Ref ref = needs_.addresses.RefOf(watcher.number);
    if (needs_.relations.AddWatcher({signal.from, ref, target}, watcher.watched)) return;
  } else if (is_for_node) {
    return;
  }
  std::string reason;
  AppendReason(reason, gen::Reason::NoProcess());
  Signal down = DownFor(watcher, signal.ref, reason);
  if (!signal.name.empty()) {
    down.from = {};
    down.name = signal.name;
  }
  const auto lock = connection.Lock();
  (void)connection.peer_state().watchers.Erase(watcher.number);
  connection.Send(down, SentAs::kAnswer);
}

void LinkReceiver::HandleDemonitor(Connection& connection, const Signal& signal) {
  std::optional<PeerWatcher> watcher;
  {
    const auto lock = connection.Lock();
    PeerState& peer = connection.peer_state();
    // A caller that ends the monitor of its request has stopped waiting for the answer.
    peer.ForgetRequest(std::string(signal.ref));
    watcher = peer.watchers.TakeByReference(signal.ref);
  }
  if (!watcher) return;
  needs_.relations.RemoveWatcher(watcher->remote, watcher->watched,
                                 needs_.addresses.RefOf(watcher->number));
  needs_.code.EndOfWatcher(watcher->number);
}

void LinkReceiver::HandleDown(Connection& connection, const Signal& signal) {
  const auto number = OwnNumberIn(signal.ref, needs_.settings.node, needs_.settings.creation);
  if (!number) return;
  std::optional<PeerState::Watch> watch;
  std::optional<PeerState::Call> call;
  bool in_order = false;  // behind its messages, as in Erlang
  {
    const auto lock = connection.Lock();
    in_order = connection.IsForeign();
    PeerState& peer = connection.peer_state();
    if (const auto found = peer.watches.find(*number); found != peer.watches.end()) {
      watch = found->second;
      peer.watches.erase(found);
    } else if (const auto asked = peer.calls.find(*number); asked != peer.calls.end()) {
      call = asked->second;
      peer.calls.erase(asked);
    }
  }
  const gen::Reason reason = ReadReason(signal.payload, &needs_.values.atoms());
  if (watch && watch->is_link) {
    needs_.relations.LoseLinkByName(watch->local, needs_.addresses.RefOf(*number), reason);
  } else if (watch) {
    needs_.relations.TellWatcher(
        {watch->local, needs_.addresses.RefOf(*number), node::TargetOf(watch->remote)}, reason,
        in_order);
  } else if (call) {
    needs_.delivery.RespondError(call->local, *number, EndOf(reason));
  } else {
    (void)needs_.groups.HandleDown(connection.peer(), *number);
  }
}

// In the functions for links, the state of a link in the connection and the list of the process change together, with
// the lock: the process may link and unlink itself at the same time (LinkSender::Link).
void LinkReceiver::HandleLink(Connection& connection, const Signal& signal) {
  const auto lock = connection.Lock();
  LinkStates& links = connection.peer_state().links;
  if (!links.TakeLink({signal.to, signal.from}) ||
      needs_.relations.LinkFromAfar(signal.to, signal.from)) {
    return;
  }
  (void)links.End({signal.to, signal.from});
  std::string reason;
  AppendReason(reason, gen::Reason::NoProcess());
  connection.Send(ExitTo(signal.from, signal.to, reason), SentAs::kAnswer);
}

void LinkReceiver::HandleUnlink(Connection& connection, const Signal& signal) {
  const auto lock = connection.Lock();
  if (connection.peer_state().links.TakeUnlink({signal.to, signal.from})) {
    needs_.relations.UnlinkFromAfar(signal.to, signal.from);
  }
  connection.Send(UnlinkAckTo(signal.from, signal.to, signal.id), SentAs::kAnswer);
}

void LinkReceiver::HandleUnlinkAck(Connection& connection, const Signal& signal) {
  connection.Lock()->peer_state().links.TakeAcknowledgement({signal.to, signal.from}, signal.id);
}

void LinkReceiver::HandleExit(Connection& connection, const Signal& signal) {
  bool in_order = false;
  {
    const auto lock = connection.Lock();
    // The link has been ended here meanwhile.
    if (!connection.peer_state().links.TakeExit({signal.to, signal.from})) return;
    in_order = connection.IsForeign();
  }
  needs_.exit_signals.Send(signal.to, signal.from,
                           ReadReason(signal.payload, &needs_.values.atoms()), 0, in_order,
                           signal.trace);
}

void LinkReceiver::HandleExitRequest(Connection& connection, const Signal& signal) {
  if (IsAtom(signal.payload, "kill", needs_.settings.max_term_depth)) {
    (void)needs_.exit_signals.Kill(signal.to);
    return;
  }
  const bool in_order = connection.Lock()->IsForeign();
  needs_.exit_signals.Send(signal.to, signal.from,
                           ReadReason(signal.payload, &needs_.values.atoms()), gen::kExplicitExit,
                           in_order, signal.trace);
}

}  // namespace ergon::dist
