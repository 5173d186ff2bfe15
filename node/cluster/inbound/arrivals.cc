#include <ergon/node/cluster/inbound/arrivals.h>

#include <chrono>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/clock.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/notices.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/tools/system_answers.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>
#include <ergon/node/process_state/slot.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {
namespace {

constexpr std::string_view kNetKernel = "net_kernel";

std::string AtomBytes(std::string_view text) {
  std::string bytes;
  TermWriter(bytes).Atom(text);
  return bytes;
}

bool IsAtom(std::string_view term, std::string_view text, std::size_t max_depth) {
  std::string_view found;
  return ControlReader(term, max_depth).ReadAtom(found) && found == text;
}

// The alias in a request's tag: [alias | Alias], or [[alias | Alias] | _], as gen:reply knows them. Empty: none.
std::string_view AliasIn(std::string_view tag, std::size_t max_depth) {
  ControlReader reader(tag, max_depth);
  std::size_t size = 0;
  std::string_view head;
  std::string_view alias;
  if (!reader.ReadList(size) || size != 1) return {};
  if (reader.ReadAtom(head)) {
    if (head == "alias") (void)reader.ReadReference(alias);
    return alias;
  }
  if (!reader.ReadList(size) || size != 1 || !reader.ReadAtom(head) || head != "alias") return {};
  return reader.ReadReference(alias) ? alias : std::string_view();
}

// { Caller, Tag }
bool ReadCaller(ControlReader& reader, gen::Atom peer, std::size_t max_depth,
                PeerState::Request& request) {
  std::size_t size = 0;
  std::string_view tag;
  if (!reader.ReadTuple(size) || size != 2 || !reader.ReadPid(peer, request.caller) ||
      !reader.ReadTerm(tag)) {
    return false;
  }
  request.tag = tag;
  request.alias = AliasIn(tag, max_depth);
  // The caller watches with the reference that it has made the request with.
  std::string_view reference;
  if (!request.alias.empty()) {
    request.watch = request.alias;
  } else if (ControlReader(tag, max_depth).ReadReference(reference)) {
    request.watch = reference;
  }
  return true;
}

// The error that an answer {error, Reason} stands for; empty: it is another one.
std::optional<gen::Error> ErrorIn(std::string_view answer, std::size_t max_depth,
                                  AtomBudget& atoms) {
  ControlReader reader(answer, max_depth);
  std::size_t size = 0;
  std::string_view word;
  std::string_view reason;
  if (!reader.ReadTuple(size) || size != 2 || !reader.ReadAtom(word) || word != "error" ||
      !reader.ReadTerm(reason)) {
    return std::nullopt;
  }
  return ReadError(reason, &atoms);
}

// The end of one who was asked, as the answer to the request.
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

void Arrivals::Handle(Connection& connection, const Signal& signal) {
  switch (signal.kind) {
    case SignalKind::kSend:
      TakeMessage(connection, signal, {.pid = signal.to});
      break;
    case SignalKind::kSendToName:
      TakeMessage(connection, signal, FindName(signal.name));
      break;
    case SignalKind::kSendToAlias:
      TakeAliasMessage(connection, signal);
      break;
    case SignalKind::kLink:
      TakeLink(connection, signal);
      break;
    case SignalKind::kUnlink:
      TakeUnlink(connection, signal);
      break;
    case SignalKind::kExit:
      TakeExit(connection, signal);
      break;
    case SignalKind::kExitRequest:
      TakeExitRequest(connection, signal);
      break;
    case SignalKind::kMonitor:
      TakeMonitor(connection, signal);
      break;
    case SignalKind::kDemonitor:
      TakeDemonitor(connection, signal);
      break;
    case SignalKind::kDown:
      TakeDown(connection, signal);
      break;
    case SignalKind::kSpawnRequest:
      needs_.code.Take(connection, signal);
      break;
    case SignalKind::kSpawnReply:
      TakeSpawnReply(connection, signal);
      break;
    case SignalKind::kUnlinkAck:
      TakeUnlinkAck(connection, signal);
      break;
    case SignalKind::kUnknown:  // operations of later versions
      break;
  }
}

Arrivals::Address Arrivals::FindName(std::string_view name) const {
  const std::optional<gen::Atom> atom = gen::Atom::Find(name);
  if (!atom) return {.name = name};
  return {
      .pid = needs_.addresses.names().Find(*atom), .name = name, .tag = gen::Target(*atom).Tag()};
}

// ---- messages and requests

gen::PID Arrivals::SenderOf(Connection& connection, const Signal& signal) {
  if (!signal.is_of_another || !connection.IsForeign()) return signal.from;
  needs_.claims.Note(connection, "a message", signal.from);
  return {};
}

void Arrivals::TakeMessage(Connection& connection, const Signal& signal, const Address& to) {
  const bool is_for_groups =
      to.name.empty() ? to.pid == needs_.addresses.NodePid() : to.name == kGroupScope;
  if (is_for_groups && needs_.groups.Take(connection.peer(), signal.payload)) return;
  if (to.name == kOwnName && !connection.IsForeign()) {
    needs_.own.Handle(connection, signal);
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
                 TakeRequest(connection, signal.payload, to)) {
        return;
      }
    } else if (size == 2 && TakeAnswer(connection, signal.payload)) {
      return;
    }
  }
  DeliverMessage(connection, SenderOf(connection, signal), term, to);
}

void Arrivals::DeliverMessage(Connection& connection, gen::PID from, std::string_view term,
                              const Address& to) {
  auto message =
      needs_.values.Read(term, static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), to.tag);
  needs_.totals.accepted.Add();
  if (!message) {
    if (const auto more = unfit_lines_.Take()) {
      gen::Log(needs_.log)
          .Warning("network: a message of {} to {} does not fit its type: {}{}", connection.peer(),
                   to.pid ? node::AsInItsLines(needs_.addresses, to.pid) : std::string(to.name),
                   message.error(), *more);
    }
    core::EnvelopePtr unread =
        core::MakeEnvelope<Term>(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                                 core::Lane::kMain, Term::FromChecked(std::string(term)));
    unread->from = from.ToAddress();
    needs_.delivery.Drop(std::move(unread), to.pid, gen::DropReason::kUnreadable, message.error());
    return;
  }
  core::EnvelopePtr envelope = std::move(*message);
  envelope->from = from.ToAddress();
  const auto sent = to.pid ? needs_.delivery.Deliver(to.pid, envelope)
                           : gen::Result<void>(gen::ErrProcessUnknown);
  if (sent) return;
  // Erlang tells the sender of a message nothing.
  const gen::DropReason reason = sent.error() == gen::ErrProcessMailboxFull
                                     ? gen::DropReason::kMailboxFull
                                     : gen::DropReason::kUnknown;
  needs_.delivery.Drop(std::move(envelope), to.pid, reason, sent.error());
}

bool Arrivals::TakeRequest(Connection& connection, std::string_view payload, const Address& to) {
  const std::size_t depth = needs_.settings.max_term_depth;
  ControlReader reader(payload, depth);
  std::size_t size = 0;
  std::string_view word;
  std::string_view term;
  PeerState::Request request;
  if (!reader.ReadTuple(size) || !reader.ReadAtom(word) ||
      !ReadCaller(reader, connection.peer(), depth, request) || !reader.ReadTerm(term)) {
    NoteCallerOfAnother(connection, payload);
    return false;
  }
  if (!to.pid) {
    TakeRequestToNobody(connection, request, term, to.name);
  } else if (word == "system") {
    TakeSystemRequest(connection, std::move(request), term, to.pid);
  } else {
    DeliverRequest(connection, std::move(request), term, to);
  }
  return true;
}

void Arrivals::NoteCallerOfAnother(Connection& connection, std::string_view payload) {
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

std::uint64_t Arrivals::Note(Connection& connection, PeerState::Request request) {
  const std::uint64_t number = node::NextUniqueId();
  std::lock_guard lock(connection.mutex());
  PeerState& relations = connection.relations();
  if (!request.watch.empty()) relations.request_numbers[request.watch] = number;
  relations.requests[number] = std::move(request);
  return number;
}

void Arrivals::DeliverRequest(Connection& connection, PeerState::Request request,
                              std::string_view term, const Address& to) {
  auto message =
      needs_.values.Read(term, static_cast<std::uint8_t>(gen::EnvelopeKind::kRequest), to.tag);
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
  envelope->ref = Note(connection, std::move(request));
  const std::uint64_t number = envelope->ref;
  const auto sent = needs_.delivery.Deliver(to.pid, envelope);
  if (sent) {
    needs_.totals.accepted.Add();
  } else {
    needs_.delivery.RespondError(caller, number, sent.error());
  }
}

void Arrivals::Answer(Connection& connection, const PeerState::Request& request,
                      std::string_view answer) {
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(request.tag);
  writer.Raw(answer);
  std::lock_guard lock(connection.mutex());
  if (connection.state() == Connection::State::kDown) return;
  // What it says of the question may be as large as that.
  (void)AppendAnswerOrError(connection, request, needs_.addresses.NodePid(), payload);
}

void Arrivals::TakeRequestToNobody(Connection& connection, const PeerState::Request& request,
                                   std::string_view term, std::string_view name) {
  // net_adm:ping
  ControlReader reader(term, needs_.settings.max_term_depth);
  std::size_t size = 0;
  std::string_view word;
  if (name == kNetKernel && reader.ReadTuple(size) && size == 2 && reader.ReadAtom(word) &&
      word == "is_auth") {
    Answer(connection, request, AtomBytes("yes"));
    return;
  }
  if (name == RemoteCode::kCalls) {
    needs_.code.TakeCall(connection, request, term);
    return;
  }
  // Callers that watch have been told, for the monitor comes first. By an alias nobody can watch.
  if (!request.watch.empty() && !name.empty()) return;
  std::string answer;
  AppendError(answer, gen::ErrProcessUnknown);
  Answer(connection, request, answer);
}

void Arrivals::TakeSystemRequest(Connection& connection, PeerState::Request request,
                                 std::string_view term, gen::PID to) {
  const std::size_t depth = needs_.settings.max_term_depth;
  std::string_view word;
  ControlReader reader(term, depth);
  std::size_t size = 0;
  if (reader.ReadTuple(size) && size == 2 && reader.ReadAtom(word) && word == "terminate") {
    std::string_view reason;
    (void)reader.ReadTerm(reason);
    // As gen:stop wants it: what waits in the mailbox is handled first. The answer has to be there before the end; of
    // one that has ended already the monitor has told.
    Answer(connection, request, AtomBytes("ok"));
    (void)needs_.exit_signals.StopAfterQueue(to, ReadReason(reason, &needs_.values.atoms()));
    return;
  }
  switch (ReadStatisticsRequest(term, depth)) {
    case StatisticsRequest::kGet:
      AnswerStatistics(connection, request, to);
      return;
    case StatisticsRequest::kSwitch:
      Answer(connection, request, AtomBytes("ok"));
      return;
    case StatisticsRequest::kNone:
      break;
  }
  gen::EnvelopeKind kind = gen::EnvelopeKind::kInspect;
  if (ControlReader(term, depth).ReadAtom(word)) {
    if (word == "get_state") {
      request.answer = PeerState::AnswerForm::kState;
    } else if (word == "get_status") {
      request.answer = PeerState::AnswerForm::kStatus;
    } else if (word == "suspend" || word == "resume") {
      request.answer = PeerState::AnswerForm::kOk;
      kind = word == "suspend" ? gen::EnvelopeKind::kSuspend : gen::EnvelopeKind::kResume;
    }
  }
  if (request.answer == PeerState::AnswerForm::kValue) {
    std::string answer;
    AppendError(answer, gen::ErrUnsupported);
    Answer(connection, request, answer);
    return;
  }
  request.asked = to;
  core::EnvelopePtr envelope =
      kind == gen::EnvelopeKind::kInspect
          ? core::MakeEnvelope<gen::InspectRequest>(static_cast<std::uint8_t>(kind),
                                                    core::Lane::kUrgent, gen::InspectRequest{})
          : core::MakeSignal(static_cast<std::uint8_t>(kind), core::Lane::kUrgent);
  const gen::PID caller = request.caller;
  envelope->from = caller.ToAddress();
  envelope->deadline = node::kUntilWithdrawn;
  const std::uint64_t number = Note(connection, std::move(request));
  envelope->ref = number;
  const auto sent = needs_.delivery.Deliver(to, envelope);
  if (!sent) needs_.delivery.RespondError(caller, number, sent.error());
}

void Arrivals::AnswerStatistics(Connection& connection, const PeerState::Request& request,
                                gen::PID pid) {
  std::string answer;
  if (const node::ProcessSlot* const process = needs_.addresses.Find(pid)) {
    std::lock_guard lock(process->Cold().lock);
    if (process->IsStill(pid)) {
      // A node with connections has the machine's clock.
      AppendStatistics(
          answer,
          {.uptime = std::chrono::nanoseconds(core::SteadyNow() - process->started_at()),
           .messages_in = process->counts().handled(),
           .messages_out = process->counts().sent()},
          std::time(nullptr));
    }
  }
  if (answer.empty()) AppendError(answer, gen::ErrProcessUnknown);
  Answer(connection, request, answer);
}

// ---- answers

void Arrivals::TakeAliasMessage(Connection& connection, const Signal& signal) {
  ControlReader reader(signal.payload, needs_.settings.max_term_depth);
  std::size_t size = 0;
  if (reader.ReadTuple(size) && size == 2 && TakeAnswer(connection, signal.payload)) return;
  // Nobody, if it has been deleted, or is one of a former incarnation.
  const auto number = OwnNumberIn(signal.ref, needs_.settings.node, needs_.settings.creation);
  const gen::PID to = number ? needs_.addresses.aliases().Find(*number) : gen::PID();
  TakeMessage(connection, signal, {.pid = to, .tag = number.value_or(0)});
}

bool Arrivals::TakeAnswer(Connection& connection, std::string_view payload) {
  const std::size_t depth = needs_.settings.max_term_depth;
  ControlReader reader(payload, depth);
  std::size_t size = 0;
  std::string_view tag;
  std::string_view answer;
  if (!reader.ReadTuple(size) || !reader.ReadTerm(tag) || !reader.ReadTerm(answer)) return false;
  std::string_view reference = AliasIn(tag, depth);
  if (reference.empty() && !ControlReader(tag, depth).ReadReference(reference)) return false;
  const auto number = OwnNumberIn(reference, needs_.settings.node, needs_.settings.creation);
  if (!number) return false;
  const std::optional<gen::Error> error = ErrorIn(answer, depth, needs_.values.atoms());
  PeerState::Call call;
  gen::PID maker;  // of a link by a name or an alias, for which the other node is too old
  {
    std::lock_guard lock(connection.mutex());
    auto& calls = connection.relations().calls;
    auto& watches = connection.relations().watches;
    if (const auto found = calls.find(*number); found != calls.end()) {
      call = found->second;
      calls.erase(found);
      if (call.spawns && call.links) {
        (void)connection.relations().links.Link({call.local, call.remote});  // as it was asked for
      }
      if (call.spawns && call.monitors) {
        watches[*number] = {call.local, call.remote};
      } else if (call.question == PeerState::OwnQuestion::kNone) {
        connection.AppendOwn(EndOfMonitor(call.local, call.remote, reference));
      }
    } else if (const auto link = watches.find(*number);
               error && link != watches.end() && link->second.is_link) {
      maker = link->second.local;
      watches.erase(link);
    } else {
      return true;  // ours, and nobody waits for it any more: a late answer disturbs nobody
    }
  }
  if (maker) {
    needs_.relations.LoseLinkByName(maker, needs_.addresses.RefOf(*number),
                                    gen::Reason::Error(error->ToString()));
    return true;
  }
  if (call.question != PeerState::OwnQuestion::kNone &&
      call.question != PeerState::OwnQuestion::kCallOfAlias) {
    needs_.own.HandleAnswer(call, *number, answer);
    return true;
  }
  constexpr auto kKind = static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse);
  if (call.spawns) {
    TellSpawned(connection, call, *number);  // its Init is done
    return true;
  }
  if (call.keeps_term) {
    (void)needs_.delivery.Respond(
        call.local, *number,
        core::MakeEnvelope<Term>(kKind, core::Lane::kMain, Term::FromChecked(std::string(answer))));
    return true;
  }
  auto value = needs_.values.Read(answer, kKind);
  if (!value) {
    needs_.delivery.RespondError(call.local, *number, value.error());
    return true;
  }
  // {error, Reason} is the request's error, unless the program has a type of its own for that.
  if (error && core::IsType<Term>((*value)->type)) {
    needs_.delivery.RespondError(call.local, *number, *error);
    return true;
  }
  if (!node::IsAlias(call.remote)) (*value)->from = call.remote.ToAddress();
  (void)needs_.delivery.Respond(call.local, *number, std::move(*value));
  return true;
}

void Arrivals::TellSpawned(Connection& connection, const PeerState::Call& call,
                           std::uint64_t number) {
  const gen::Ref ref = needs_.addresses.RefOf(number);
  Term answer = Term::Of(call.remote);
  // Not by the process, when it goes on: the end of the other one may have come by then, or that of the connection.
  if (call.links) (void)needs_.relations.LinkFromAfar(call.local, call.remote);
  if (call.monitors) {
    (void)needs_.relations.NoteMonitor(call.local, call.remote, ref);
    answer = Term::Tuple({answer, Term::Of(ref)});
  }
  const auto told = needs_.delivery.Respond(
      call.local, number,
      core::MakeEnvelope<Term>(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                               core::Lane::kMain, std::move(answer)));
  if (told) return;
  // Nobody waits any more, nor for the end of what was never told.
  needs_.relations.ForgetSpawned(call.local, call.remote, ref);
  std::lock_guard lock(connection.mutex());
  connection.relations().watches.erase(number);
  (void)connection.relations().links.End({call.local, call.remote});
  if (connection.state() != Connection::State::kDown) {
    AppendAbandoned(connection, needs_.addresses.NodePid(), call.remote);
  }
}

void Arrivals::TakeSpawnReply(Connection& connection, const Signal& signal) {
  const auto number = OwnNumberIn(signal.ref, needs_.settings.node, needs_.settings.creation);
  const bool is_started = !signal.from.node.empty();
  bool is_ready = false;  // it is a process of Erlang, which has no Init
  PeerState::Call call;
  {
    std::lock_guard lock(connection.mutex());
    if (connection.state() == Connection::State::kDown) return;
    auto& calls = connection.relations().calls;
    const auto found = number ? calls.find(*number) : calls.end();
    const bool is_ours = found != calls.end() && found->second.spawns;
    if (is_ours && is_started &&
        needs_.delivery.IsAwaited(found->second.local, needs_.addresses.RefOf(*number)) &&
        connection.IsForeign()) {
      is_ready = true;
      found->second.remote = signal.from;
      PeerState& relations = connection.relations();
      if (found->second.links) (void)relations.links.Link({found->second.local, signal.from});
      if (found->second.monitors) {
        relations.watches[*number] = {found->second.local, signal.from};
      } else {
        connection.AppendOwn(EndOfMonitor(found->second.local, signal.from, signal.ref));
      }
    } else if (is_ours && is_started &&
               needs_.delivery.IsAwaited(found->second.local, needs_.addresses.RefOf(*number))) {
      found->second.remote = signal.from;  // that its Init is done, is said by RemoteCode there
      return;
    }
    if (is_started && !is_ready) {
      AppendAbandoned(connection, needs_.addresses.NodePid(), signal.from);
    }
    if (!is_ours) return;
    call = found->second;
    calls.erase(found);
  }
  if (is_ready) TellSpawned(connection, call, *number);
  if (is_started) return;
  std::string_view word;
  (void)ControlReader(signal.payload, needs_.settings.max_term_depth).ReadAtom(word);
  const gen::ErrorCode code = word == "notsup"         ? gen::ErrorCode::kUnsupported
                              : word == "system_limit" ? gen::ErrorCode::kBusy
                                                       : gen::ErrorCode::kApplication;
  needs_.delivery.RespondError(call.local, *number,
                               gen::Error(code, fmt::format("{}: {}", connection.peer(), word)));
}

// ---- links and monitors

void Arrivals::TakeMonitor(Connection& connection, const Signal& signal) {
  const std::uint64_t number = node::NextUniqueId();
  const gen::PID watched = signal.name.empty() ? signal.to : FindName(signal.name).pid;
  {
    std::lock_guard lock(connection.mutex());
    if (!connection.relations().AddWatcher(
            number, {signal.from, watched, std::string(signal.name), std::string(signal.ref)})) {
      return;
    }
  }
  const gen::Ref ref = needs_.addresses.RefOf(number);
  if (watched == needs_.addresses.NodePid()) {
    return;  // the node speaks for its groups, and is there as long as the connection
  }
  if (watched) {
    const gen::Target target =
        signal.name.empty()
            ? gen::Target(watched)
            : gen::Target(gen::ProcessID{gen::Atom(signal.name), needs_.settings.node});
    if (needs_.relations.AddWatcher({signal.from, ref, target}, watched)) return;
  } else if (signal.name == kNetKernel || signal.name == RemoteCode::kCalls) {
    return;  // as long as the connection is there, so is what answers for that name
  }
  std::string reason;
  AppendReason(reason, gen::Reason::NoProcess());
  Signal down;
  down.kind = SignalKind::kDown;
  if (signal.name.empty()) down.from = watched;
  down.to = signal.from;
  down.name = signal.name;
  down.ref = signal.ref;
  down.payload = reason;
  std::lock_guard lock(connection.mutex());
  connection.relations().watchers.erase(number);
  connection.relations().watcher_numbers.erase(std::string(signal.ref));
  if (connection.state() != Connection::State::kDown) connection.Append(down);
}

void Arrivals::TakeDemonitor(Connection& connection, const Signal& signal) {
  PeerState::Watcher watcher;
  std::uint64_t number = 0;
  {
    std::lock_guard lock(connection.mutex());
    PeerState& relations = connection.relations();
    const std::string raw(signal.ref);
    // Whoever ends the monitor of a request waits for its answer no more.
    relations.ForgetRequest(raw);
    const auto known = relations.watcher_numbers.find(raw);
    if (known == relations.watcher_numbers.end()) return;
    number = known->second;
    relations.watcher_numbers.erase(known);
    const auto found = relations.watchers.find(number);
    watcher = std::move(found->second);
    relations.watchers.erase(found);
  }
  needs_.relations.RemoveWatcher(watcher.remote, watcher.watched, needs_.addresses.RefOf(number));
  needs_.code.EndOfWatcher(number);
}

void Arrivals::TakeDown(Connection& connection, const Signal& signal) {
  const auto number = OwnNumberIn(signal.ref, needs_.settings.node, needs_.settings.creation);
  if (!number) return;
  std::optional<PeerState::Watch> watch;
  std::optional<PeerState::Call> call;
  bool in_order = false;  // behind its messages, as Erlang has it
  {
    std::lock_guard lock(connection.mutex());
    in_order = connection.IsForeign();
    PeerState& relations = connection.relations();
    if (const auto found = relations.watches.find(*number); found != relations.watches.end()) {
      watch = found->second;
      relations.watches.erase(found);
    } else if (const auto asked = relations.calls.find(*number); asked != relations.calls.end()) {
      call = asked->second;
      relations.calls.erase(asked);
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
    (void)needs_.groups.TakeDown(connection.peer(), *number);
  }
}

// In all of these what the connection knows of a link and the list of our process change together, with the lock: the
// process may link and unlink itself at the same time (ErlangBorder::Link).
void Arrivals::TakeLink(Connection& connection, const Signal& signal) {
  std::lock_guard lock(connection.mutex());
  LinkStates& links = connection.relations().links;
  if (!links.TakeLink({signal.to, signal.from}) ||
      needs_.relations.LinkFromAfar(signal.to, signal.from)) {
    return;
  }
  (void)links.End({signal.to, signal.from});
  std::string reason;
  AppendReason(reason, gen::Reason::NoProcess());
  Signal exit;
  exit.kind = SignalKind::kExit;
  exit.from = signal.to;
  exit.to = signal.from;
  exit.payload = reason;
  if (connection.state() != Connection::State::kDown) connection.Append(exit);
}

void Arrivals::TakeUnlink(Connection& connection, const Signal& signal) {
  Signal ack;
  ack.kind = SignalKind::kUnlinkAck;
  ack.from = signal.to;
  ack.to = signal.from;
  ack.id = signal.id;
  std::lock_guard lock(connection.mutex());
  if (connection.relations().links.TakeUnlink({signal.to, signal.from})) {
    needs_.relations.UnlinkFromAfar(signal.to, signal.from);
  }
  if (connection.state() != Connection::State::kDown) connection.Append(ack);
}

void Arrivals::TakeUnlinkAck(Connection& connection, const Signal& signal) {
  std::lock_guard lock(connection.mutex());
  connection.relations().links.TakeAcknowledgement({signal.to, signal.from}, signal.id);
}

void Arrivals::TakeExit(Connection& connection, const Signal& signal) {
  bool in_order = false;
  {
    std::lock_guard lock(connection.mutex());
    // Of a link that we have ended meanwhile.
    if (!connection.relations().links.TakeExit({signal.to, signal.from})) return;
    in_order = connection.IsForeign();
  }
  needs_.exit_signals.Send(signal.to, signal.from,
                           ReadReason(signal.payload, &needs_.values.atoms()), 0, in_order);
}

void Arrivals::TakeExitRequest(Connection& connection, const Signal& signal) {
  if (IsAtom(signal.payload, "kill", needs_.settings.max_term_depth)) {
    (void)needs_.exit_signals.Kill(signal.to);
    return;
  }
  bool in_order = false;
  {
    std::lock_guard lock(connection.mutex());
    in_order = connection.IsForeign();
  }
  needs_.exit_signals.Send(signal.to, signal.from,
                           ReadReason(signal.payload, &needs_.values.atoms()), gen::kExplicitExit,
                           in_order);
}

}  // namespace ergon::dist
