#include <ergon/node/cluster/inbound/request_receiver.h>

#include <string>
#include <utility>

#include <ergon/gen/atom.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/inbound/request_reader.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

bool RequestReceiver::Handle(Connection& connection, const Signal& signal,
                             const MessageTarget& to) {
  const std::size_t depth = needs_.settings.max_term_depth;
  const bool is_call_of_code = !to.pid && to.name == RemoteCode::kCalls;
  ControlReader reader(signal.payload, is_call_of_code ? depth + kLevelsAround : depth);
  std::size_t size = 0;
  std::string_view word;
  std::string_view term;
  PeerState::Request request;
  if (!reader.ReadTuple(size) || !reader.ReadAtom(word) ||
      !ReadCaller(reader, connection.peer(), depth, request) || !reader.ReadTerm(term)) {
    NoteCallerOfAnother(connection, signal.payload);
    return false;
  }
  request.trace = signal.trace;
  if (!to.pid) {
    HandleToNobody(connection, request, term, to.name);
  } else if (word == "system") {
    system_.Handle(connection, std::move(request), term, to.pid);
  } else {
    Deliver(connection, std::move(request), term, to);
  }
  return true;
}

void RequestReceiver::NoteCallerOfAnother(Connection& connection, std::string_view payload) {
  ControlReader reader(payload, needs_.settings.max_term_depth);
  std::size_t size = 0;
  std::string_view word;
  std::string_view node;
  gen::PID caller;
  if (!reader.ReadTuple(size) || !reader.ReadAtom(word) || !reader.ReadTuple(size) || size != 2 ||
      !reader.ReadPid(node, caller) || node == connection.peer().Text()) {
    return;
  }
  caller.node = gen::Atom::Find(node).value_or(gen::Atom());
  needs_.claims.Note(connection, "a request", caller);
}

void RequestReceiver::Deliver(Connection& connection, PeerState::Request request,
                              std::string_view term, const MessageTarget& to) {
  auto message = needs_.values.Read(term, static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest),
                                    {.tag = to.tag, .trace = request.trace});
  if (!message) {
    if (const auto more = unfit_lines_.Take()) {
      gen::Log(needs_.log)
          .Warning("network: a request of {} to {} does not fit its type: {}{}", connection.peer(),
                   node::AsInItsLines(needs_.addresses, to.pid), message.error(), *more);
    }
    std::string answer;
    AppendError(answer, message.error());
    Answer(connection, request, answer);
    return;
  }
  core::EnvelopePtr envelope = std::move(*message);
  const gen::PID caller = request.caller;
  envelope->from = caller.ToAddress();
  envelope->deadline = node::kUntilWithdrawn;
  envelope->ref = NoteRequest(connection, std::move(request));
  const std::uint64_t number = envelope->ref;
  const auto sent = needs_.delivery.Deliver(to.pid, envelope);
  if (sent) {
    needs_.totals.accepted.Add();
  } else {
    needs_.delivery.RespondError(caller, number, sent.error());
  }
}

void RequestReceiver::HandleToNobody(Connection& connection, const PeerState::Request& request,
                                     std::string_view term, std::string_view name) {
  // net_adm:ping
  ControlReader reader(term, needs_.settings.max_term_depth);
  std::size_t size = 0;
  std::string_view word;
  if (name == kNetKernel && reader.ReadTuple(size) && size == 2 && reader.ReadAtom(word) &&
      word == "is_auth") {
    std::string yes;
    TermWriter(yes).Atom("yes");
    Answer(connection, request, yes);
    return;
  }
  if (name == RemoteCode::kCalls) {
    needs_.code.HandleCall(connection, request, term);
    return;
  }
  // A caller that monitors has been told, because its monitor comes first. Nobody can monitor by an alias, and what
  // answers for kNetKernel has no end to tell of.
  if (!request.watch.empty() && !name.empty() && name != kNetKernel) return;
  std::string answer;
  AppendError(answer, gen::ErrProcessUnknown);
  Answer(connection, request, answer);
}

void RequestReceiver::Answer(Connection& connection, const PeerState::Request& request,
                             std::string_view answer) const {
  SendAnswer(connection, request, needs_.addresses.NodePid(), answer);
}

}  // namespace ergon::dist
