#include <ergon/node/cluster/outbound/request_sender.h>

#include <fmt/core.h>

#include <ergon/gen/notices.h>
#include <ergon/node/cluster/connection/message_forms.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/outbound/message_frames.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/scratch.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

gen::Error NotPassedOn(gen::PID caller, gen::PID remote) {
  return gen::Error(
      gen::ErrorCode::kUnsupported,
      fmt::format("a request of {} cannot be passed on to {} of another node: make a request of "
                  "your own there, and answer with its answer",
                  caller, node::TextOf(remote)));
}

}  // namespace

std::string RequestSender::Reference(std::uint64_t id) const {
  return ReferenceOf(id, settings_.node, settings_.creation);
}

// As gen_server:call does it: a monitor, whose reference is also the alias that the answer is sent to.
gen::Result<void> RequestSender::Send(gen::PID remote, const core::Envelope& request) {
  const gen::PID local = gen::PID::FromAddress(request.from);
  // The request is passed on. The other node takes monitors and callers of its peer only, and the answer would not come
  // here.
  if (local.node != settings_.node) return NotPassedOn(local, remote);
  if (const auto* spawn = request.ValueAs<RemoteSpawn>()) {
    return SendSpawn(remote, request, *spawn);
  }
  if (core::IsType<RoomQuestion>(request.type)) {
    Scratch scratch;
    std::string& question = scratch.Empty();
    AppendRoomQuestion(question, Reference(request.ref), remote);
    auto asked =
        Ask(remote, {.local = local, .remote = remote, .question = PeerState::ErgonQuestion::kRoom},
            request.ref, local, question);
    if (asked) totals_.given_to_nodes.Add();
    return asked;
  }
  if (core::IsType<TermRequest>(request.type)) {
    Form form = Form::kTerm;
    return SendRequestIn(form, form, remote, request, nullptr);
  }
  const Values::Writer* const how = values_.WriterOf(request);
  if (how == nullptr) return values_.WhyNoWriter(request);
  return SendInForm(*how, remote.node, [&](Form tried, Form& form) {
    return SendRequestIn(tried, form, remote, request, how);
  });
}

gen::Result<void> RequestSender::SendRequestIn(Form tried, Form& form, gen::PID remote,
                                               const core::Envelope& request,
                                               const Values::Writer* how) {
  const gen::PID local = gen::PID::FromAddress(request.from);
  const auto* any = request.ValueAs<TermRequest>();
  const std::string reference = Reference(request.ref);
  Scratch scratch;
  std::string* const frame = OpenFrameOf(scratch, remote, request, traces_);
  if (frame == nullptr) return FormerAlias(remote);
  TermWriter writer(*frame);
  writer.Tuple(3);
  writer.Atom(any != nullptr && any->is_system ? "system" : "$gen_call");
  writer.Tuple(2);
  writer.Pid(local);
  writer.List(1);
  writer.Atom("alias");
  writer.Raw(reference);  // the tail: an improper list
  if (any != nullptr) {
    writer.Raw(any->term.raw());
  } else {
    auto written = values_.Append(*frame, request, *how, tried);
    if (!written) return written;
  }
  if (auto fits = CheckMessageFrame(*frame, settings_.max_frame_bytes, remote); !fits) return fits;
  CloseFrame(*frame, 0);
  // Nobody can monitor by an alias: only Ergon nodes tell of every end without a monitor.
  const PeerState::ErgonQuestion question = node::IsAlias(remote)
                                                ? PeerState::ErgonQuestion::kCallOfAlias
                                                : PeerState::ErgonQuestion::kNone;
  const Signal monitor = MonitorOf(local, remote, reference);
  return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (question != PeerState::ErgonQuestion::kNone && connection.IsForeign()) {
      return NoErgonNode(question, connection.peer());
    }
    if (how != nullptr && how->packed != nullptr) {
      if (auto taken = SelectForm(form, *how, connection); !taken || form != tried) return taken;
    }
    auto accepts = connection.Accepts(remote);
    if (!accepts) return accepts;
    connection.peer_state().calls[request.ref] = {
        .local = local, .remote = remote, .keeps_term = any != nullptr, .question = question};
    if (question == PeerState::ErgonQuestion::kNone) connection.Send(monitor, SentAs::kOwn);
    connection.SendRequestFrame(*frame);
    totals_.given_to_nodes.Add();
    return {};
  });
}

// The process is monitored from its beginning with the reference of the request: its end is an answer.
gen::Result<void> RequestSender::SendSpawn(gen::PID remote, const core::Envelope& request,
                                           const RemoteSpawn& spawn) {
  const std::string reference = Reference(request.ref);
  const Signal signal{.kind = SignalKind::kSpawnRequest,
                      .from = gen::PID::FromAddress(request.from),
                      .ref = reference,
                      .payload = spawn.arguments.raw(),
                      .module = spawn.module,
                      .function = spawn.function,
                      .arity = static_cast<std::uint32_t>(spawn.arguments.size()),
                      .links = spawn.links ? std::uint8_t{kMonitored | kLinked} : kMonitored,
                      .trace = gen::TraceOf(request)};
  return connections_.With(remote.node, [&](Connection& connection) -> gen::Result<void> {
    if (connection.RefusesSpawns()) return NoSpawningNode(connection.peer());
    auto accepts = connection.Accepts(remote);
    if (!accepts) return accepts;
    auto sent = connection.TrySend(signal, SentAs::kMessage);
    if (!sent) return sent;
    connection.peer_state().calls[request.ref] = {.local = signal.from,
                                                  .remote = remote,
                                                  .keeps_term = true,
                                                  .spawns = true,
                                                  .links = spawn.links,
                                                  .monitors = spawn.monitors};
    totals_.given_to_nodes.Add();
    return {};
  });
}

gen::Result<void> RequestSender::Ask(gen::PID remote, const PeerState::Call& question,
                                     std::uint64_t id, gen::PID from, std::string_view payload) {
  const Signal signal = ErgonSignal(from, payload);
  return connections_.With(remote.node, [&](Connection& connection) {
    return SendQuestion(connection, question, id, signal);
  });
}

gen::Result<void> RequestSender::SendInspection(gen::PID remote, const core::Envelope& request) {
  const auto* asked = request.ValueAs<gen::InspectRequest>();
  if (asked->wanted != nullptr) {
    if (auto known = values_.CheckRegistered(*asked->wanted); !known) return known;
  }
  Scratch scratch;
  std::string& payload = scratch.Empty();
  AppendInspect(payload, Reference(request.ref), remote);
  TermWriter writer(payload);
  if (asked->wanted != nullptr) {
    writer.Tuple(2);
    writer.Atom(kInspectionAs);
    writer.Binary(asked->wanted->Name());
  } else {
    if (!asked->items.empty()) writer.List(asked->items.size());
    for (const std::string& item : asked->items) writer.Binary(item);
    writer.Nil();
  }
  const gen::PID local = gen::PID::FromAddress(request.from);
  return Ask(remote,
             {.local = local, .remote = remote, .question = PeerState::ErgonQuestion::kInspect},
             request.ref, local, payload);
}

}  // namespace ergon::dist
