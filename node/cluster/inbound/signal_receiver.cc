#include <ergon/node/cluster/inbound/signal_receiver.h>

#include <optional>

#include <ergon/gen/atom.h>
#include <ergon/gen/target.h>
#include <ergon/node/cluster/groups/group_messages.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>

namespace ergon::dist {

namespace {

// Whether the protocol may have put something around the value in the payload.
bool HasValueInside(SignalKind kind) noexcept {
  return kind == SignalKind::kSend || kind == SignalKind::kSendToName ||
         kind == SignalKind::kSendToAlias || kind == SignalKind::kSpawnRequest;
}

}  // namespace

SignalReceiver::SignalReceiver(const Needs& needs)
    : needs_(needs),
      messages_(needs.addresses, needs.delivery, needs.totals, needs.log, needs.values),
      requests_({.addresses = needs.addresses,
                 .delivery = needs.delivery,
                 .exit_signals = needs.exit_signals,
                 .totals = needs.totals,
                 .log = needs.log,
                 .settings = needs.settings,
                 .values = needs.values,
                 .code = needs.code,
                 .claims = needs.claims}),
      ergon_({.addresses = needs.addresses,
              .delivery = needs.delivery,
              .relations = needs.relations,
              .totals = needs.totals,
              .log = needs.log,
              .settings = needs.settings,
              .values = needs.values,
              .events = needs.events,
              .claims = needs.claims}),
      answers_({.addresses = needs.addresses,
                .delivery = needs.delivery,
                .relations = needs.relations,
                .settings = needs.settings,
                .values = needs.values,
                .ergon = ergon_}),
      links_({.addresses = needs.addresses,
              .delivery = needs.delivery,
              .relations = needs.relations,
              .exit_signals = needs.exit_signals,
              .settings = needs.settings,
              .values = needs.values,
              .groups = needs.groups,
              .code = needs.code}) {}

void SignalReceiver::Handle(Connection& connection, const Signal& signal) {
  if (messages_.Gather(connection, signal, {&signal.payload, 1}) == 1) [[likely]]
    return;
  messages_.Flush();  // all of one connection stays in its order
  if (!signal.unknown_node.empty()) [[unlikely]] {
    Signal known = signal;
    known.unknown_node = {};
    known.from = SenderOfUnknown(connection, signal);
    Handle(connection, known);
    return;
  }
  if (signal.is_deep && !HasValueInside(signal.kind)) ThrowTooDeep(needs_.settings.max_term_depth);
  switch (signal.kind) {
    case SignalKind::kSend:
      HandleMessage(connection, signal, {.pid = signal.to});
      break;
    case SignalKind::kSendToName:
      HandleMessage(connection, signal, FindName(signal.name));
      break;
    case SignalKind::kSendToAlias:
      HandleMessageToAlias(connection, signal);
      break;
    case SignalKind::kLink:
      links_.HandleLink(connection, signal);
      break;
    case SignalKind::kUnlink:
      links_.HandleUnlink(connection, signal);
      break;
    case SignalKind::kExit:
      links_.HandleExit(connection, signal);
      break;
    case SignalKind::kExitRequest:
      links_.HandleExitRequest(connection, signal);
      break;
    case SignalKind::kMonitor:
      links_.HandleMonitor(connection, signal);
      break;
    case SignalKind::kDemonitor:
      links_.HandleDemonitor(connection, signal);
      break;
    case SignalKind::kDown:
      links_.HandleDown(connection, signal);
      break;
    case SignalKind::kSpawnRequest:
      needs_.code.Handle(connection, signal);
      break;
    case SignalKind::kSpawnReply:
      answers_.HandleSpawnReply(connection, signal);
      break;
    case SignalKind::kUnlinkAck:
      links_.HandleUnlinkAck(connection, signal);
      break;
    case SignalKind::kUnknown:  // operations of later versions
      break;
  }
}

void SignalReceiver::HandleAlike(Connection& connection, const Signal& signal,
                                 std::span<const std::string_view> payloads) {
  for (;;) {
    payloads = payloads.subspan(messages_.Gather(connection, signal, payloads));
    if (payloads.empty()) [[likely]]
      return;
    Signal next = signal;
    next.payload = payloads.front();
    Handle(connection, next);
    payloads = payloads.subspan(1);
  }
}

MessageTarget SignalReceiver::FindName(std::string_view name) const {
  const std::optional<gen::Atom> atom = gen::Atom::Find(name);
  if (!atom) return {.name = name};
  return {
      .pid = needs_.addresses.names().Find(*atom), .name = name, .tag = gen::Target(*atom).Tag()};
}

gen::PID SignalReceiver::SenderOf(Connection& connection, const Signal& signal) {
  if (!signal.is_of_another || !connection.IsForeign()) return signal.from;
  needs_.claims.Note(connection, "a message", signal.from);
  return {};
}

// Only an Ergon node is believed, as with the PIDs in its messages.
gen::PID SignalReceiver::SenderOfUnknown(const Connection& connection, const Signal& signal) const {
  if (connection.IsForeign()) return {};
  const auto node = needs_.values.atoms().Make(signal.unknown_node);
  return node ? gen::PID{signal.from.id, *node, signal.from.creation} : gen::PID();
}

void SignalReceiver::HandleMessage(Connection& connection, const Signal& signal,
                                   const MessageTarget& to) {
  const bool is_for_groups =
      to.name.empty() ? to.pid == needs_.addresses.NodePid() : to.name == kGroupScope;
  if (is_for_groups && needs_.groups.Handle(connection.peer(), signal.payload)) return;
  if (to.name == kErgonName && !connection.IsForeign()) {
    ergon_.Handle(connection, signal);
    return;
  }
  ControlReader reader(signal.payload, needs_.settings.max_term_depth);
  std::size_t size = 0;
  std::string_view word;
  std::string_view term = signal.payload;
  if (reader.ReadTuple(size) && (size == 2 || size == 3)) {
    if (reader.ReadAtom(word)) {
      if (size == 2 && word == "$gen_cast") {
        (void)reader.ReadTerm(term);
      } else if (size == 3 && (word == "$gen_call" || word == "system") &&
                 requests_.Handle(connection, signal, to)) {
        return;
      }
    } else if (size == 2 && answers_.Handle(connection, signal)) {
      return;
    }
  }
  if (signal.is_deep && term.data() == signal.payload.data()) {
    ThrowTooDeep(needs_.settings.max_term_depth);
  }
  messages_.Deliver(connection, SenderOf(connection, signal), term, to, signal.trace);
}

void SignalReceiver::HandleMessageToAlias(Connection& connection, const Signal& signal) {
  ControlReader reader(signal.payload, needs_.settings.max_term_depth);
  std::size_t size = 0;
  const bool is_pair = reader.ReadTuple(size) && size == 2;
  if (is_pair && answers_.Handle(connection, signal)) return;
  // Nobody has the alias if it has been deleted, or belongs to a former incarnation.
  const auto number = OwnNumberIn(signal.ref, needs_.settings.node, needs_.settings.creation);
  const gen::PID to = number ? needs_.addresses.aliases().Find(*number) : gen::PID();
  std::string_view tag;
  if (!to && is_pair && reader.ReadTerm(tag) && tag == signal.ref) return;  // a late answer
  HandleMessage(connection, signal, {.pid = to, .tag = number.value_or(0)});
}

}  // namespace ergon::dist
