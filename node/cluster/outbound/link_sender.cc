#include <ergon/node/cluster/outbound/link_sender.h>

#include <utility>

#include <fmt/core.h>

#include <ergon/gen/notices.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/signals/common_signals.h>
#include <ergon/node/cluster/signals/link_signals.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/scratch.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

// Returns the exit reason for those who are told of the error as of an end.
gen::Reason ReasonOf(const gen::Error& error) {
  return error == gen::ErrProcessIncarnation ? gen::Reason::NoProcess()
                                             : gen::Reason::NoConnection();
}

}  // namespace

std::string LinkSender::Reference(std::uint64_t id) const {
  return ReferenceOf(id, addresses_.node(), addresses_.creation());
}

void LinkSender::Link(gen::PID local, gen::PID remote) {
  const auto sent =
      connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
        if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
        const bool is_new = connection.peer_state().links.Link({local, remote});
        // The other process may have ended the link since `local` has noted it, or may have made it itself.
        (void)relations_.LinkFromAfar(local, remote);
        if (!is_new) return {};
        connection.Send(LinkTo(remote, local), SentAs::kOwn);
        return {};
      });
  if (!sent) exit_signals_.Send(local, remote, ReasonOf(sent.error()), 0);
}

void LinkSender::Unlink(gen::PID local, gen::PID remote) {
  const auto connection = connections_.FindLocked(remote.node);
  if (!connection) return;
  const std::uint64_t id = connection->peer_state().links.Unlink({local, remote});
  if (id == 0) return;
  connection->Send(UnlinkTo(remote, local, id), SentAs::kOwn);
}

void LinkSender::Exit(gen::PID local, gen::PID remote, const gen::Reason& reason) {
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendReason(payload, reason);
  const auto connection = connections_.FindLocked(remote.node);
  if (!connection) return;
  if (!connection->peer_state().links.End({local, remote})) return;
  SendEnd(*connection, ExitTo(remote, local, payload));
}

gen::Result<void> LinkSender::LinkByName(gen::PID local, gen::PID remote, gen::Ref ref) {
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendLink(payload, Reference(ref.id), remote);
  const Signal signal = ErgonSignal(local, payload);
  auto sent = connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (connection.IsForeign())
      return NoErgonNode(PeerState::ErgonQuestion::kLink, connection.peer());
    if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
    connection.peer_state().watches[ref.id] = {local, remote, true};
    connection.Send(signal, SentAs::kOwn);
    return {};
  });
  if (sent || sent.error() == gen::ErrUnsupported) return sent;
  relations_.LoseLinkByName(local, ref, ReasonOf(sent.error()));
  return {};
}

void LinkSender::ExitByName(gen::PID local, gen::PID remote, gen::Ref ref,
                            const gen::Reason& reason) {
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendMakerEnd(payload, Reference(ref.id));
  const std::string head = payload;
  AppendReason(payload, reason);
  const auto connection = connections_.FindLocked(remote.node);
  if (!connection) return;
  if (connection->peer_state().watches.erase(ref.id) == 0) return;
  SendEnd(*connection, ErgonSignal(local, payload), head);
}

void LinkSender::EndLinkOf(gen::PID maker, gen::Ref ref) {
  const auto connection = connections_.FindLocked(maker.node);
  if (!connection) return;
  const auto taken = connection->peer_state().watchers.Take(ref.id);
  if (!taken) return;
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendUnlinked(payload, taken->reference);
  connection->Send(ErgonSignal(addresses_.NodePid(), payload), SentAs::kAnswer);
}

gen::Result<void> LinkSender::ExitRequest(gen::PID local, gen::PID remote,
                                          const gen::Reason& reason, gen::TraceId trace) {
  if (node::IsName(remote) || node::IsAlias(remote)) {
    return gen::Error(
        gen::ErrorCode::kUnsupported,
        fmt::format("an exit signal to {} {} of another node: send it to the PID",
                    node::IsName(remote) ? "the name" : "the alias", node::TextOf(remote)));
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  if (reason.kind() == gen::ReasonKind::kKill) {
    TermWriter(payload).Atom("kill");  // what others see of it is "killed"
  } else {
    AppendReason(payload, reason);
  }
  Signal signal = ExitRequestTo(remote, local, payload);
  signal.trace = trace;
  return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
    return connection.TrySend(signal, SentAs::kOwn);
  });
}

void LinkSender::Monitor(gen::PID local, gen::PID remote, gen::Ref ref) {
  const std::string reference = Reference(ref.id);
  const Signal signal = MonitorOf(local, remote, reference);
  auto sent = connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (connection.IsFormer(remote)) return gen::ErrProcessIncarnation;
    connection.peer_state().watches[ref.id] = {local, remote};
    connection.Send(signal, SentAs::kOwn);
    return {};
  });
  if (!sent) {
    relations_.TellWatcher({local, ref, node::TargetOf(remote)}, ReasonOf(sent.error()));
  }
}

void LinkSender::Demonitor(gen::PID local, gen::PID remote, gen::Ref ref) {
  const std::string reference = Reference(ref.id);
  const auto connection = connections_.FindLocked(remote.node);
  if (!connection) return;
  if (connection->peer_state().watches.erase(ref.id) == 0) return;
  connection->Send(EndOfMonitor(local, remote, reference), SentAs::kOwn);
}

gen::Result<void> LinkSender::SendDown(gen::PID remote, const core::Envelope& notice) {
  gen::Reason reason;
  if (const auto* pid = notice.ValueAs<gen::MessageDownPID>()) {
    reason = pid->reason;
  } else if (const auto* name = notice.ValueAs<gen::MessageDownProcessID>()) {
    reason = name->reason;
  } else if (const auto* alias = notice.ValueAs<gen::MessageDownAlias>()) {
    reason = alias->reason;
  } else {
    return gen::ErrUnsupported;
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendReason(payload, reason);
  const auto connection = connections_.FindLocked(remote.node);
  if (!connection) return gen::ErrNoConnection;
  PeerState& peer = connection->peer_state();
  const auto taken = peer.watchers.Take(notice.ref);
  if (!taken) return gen::ErrResponseIgnored;  // it has ended the monitor
  SendEnd(*connection, DownFor(taken->watcher, taken->reference, payload));
  // The end is an answer to the request with the same reference.
  peer.ForgetRequest(taken->reference);
  return {};
}

}  // namespace ergon::dist
