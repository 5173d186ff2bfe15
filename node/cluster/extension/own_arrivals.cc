#include <ergon/node/cluster/extension/own_arrivals.h>

#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/messenger.h>
#include <ergon/gen/notices.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/border.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/reader.h>
#include <ergon/node/erlang/terms/writer.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::dist {
namespace {

// False: the term is no list of texts.
bool ReadItems(std::string_view term, std::vector<std::string>& items) {
  TermReader reader(term);
  std::size_t count = 0;
  if (!reader.EnterList(count)) return false;
  for (; count != 0; --count) {
    std::string_view item;
    if (!reader.ReadBinary(item)) return false;
    items.emplace_back(item);
  }
  return true;
}

// False: the term is no map of texts.
bool ReadInspection(std::string_view term, gen::Inspection& inspection) {
  TermReader reader(term);
  std::size_t count = 0;
  if (!reader.EnterMap(count)) return false;
  for (; count != 0; --count) {
    std::string_view key;
    std::string_view text;
    if (!reader.ReadBinary(key) || !reader.ReadBinary(text)) return false;
    inspection.emplace(key, text);
  }
  return true;
}

// The name in {as, Type}; empty: the term is something else.
std::string_view ReadWantedType(std::string_view term) {
  TermReader reader(term);
  std::size_t size = 0;
  std::string word;
  std::string_view name;
  if (!reader.EnterTuple(size) || size != 2 || !reader.ReadAtomText(word) ||
      word != kInspectionAs || !reader.ReadBinary(name)) {
    return {};
  }
  return name;
}

core::EnvelopePtr EmptyResponse() {
  return core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                          core::Lane::kMain);
}

}  // namespace

// ---- what others ask

void OwnArrivals::Take(Connection& connection, const Signal& signal) {
  const auto message =
      ReadOwnMessage(signal.payload, needs_.settings.node, needs_.settings.max_term_depth);
  if (!message) {
    if (const auto more = unread_lines_.Take()) {
      gen::Log(needs_.log)
          .Warning("network: a message of {} to {} is none of those{}", connection.peer(), kOwnName,
                   *more);
    }
    return;
  }
  if (!IsBelieved(connection, *message, signal.from)) return;
  switch (message->kind) {
    case OwnMessage::Kind::kImportant:
      Answer(connection, message->reference, DeliverImportant(*message, signal.from));
      return;
    case OwnMessage::Kind::kSubscribe:
      TakeSubscribe(connection, *message, signal.from);
      return;
    case OwnMessage::Kind::kUnsubscribe:
      needs_.events.TakeUnsubscribe(connection, *message, signal.from);
      return;
    case OwnMessage::Kind::kValue:
      needs_.events.TakeValue(connection, *message, signal.from);
      return;
    case OwnMessage::Kind::kEventEnd:
      needs_.events.TakeEnd(connection, *message, signal.from);
      return;
    case OwnMessage::Kind::kRoom:
      AnswerRoom(connection, *message);
      return;
    case OwnMessage::Kind::kInspect:
      TakeInspect(connection, *message, signal.from);
      return;
    case OwnMessage::Kind::kLink:
      TakeLink(connection, *message, signal.from);
      return;
    case OwnMessage::Kind::kMakerEnd:
      TakeMakerEnd(connection, *message);
      return;
    case OwnMessage::Kind::kUnlinked:
      TakeUnlinked(connection, *message);
      return;
    case OwnMessage::Kind::kPacks:
      TakePacks(connection, *message);
      return;
    case OwnMessage::Kind::kUnknown:
      if (!message->reference.empty()) {
        Answer(connection, message->reference,
               gen::Error(gen::ErrorCode::kUnsupported,
                          fmt::format("{} is too old for that", needs_.settings.node)));
      }
      return;
  }
}

bool OwnArrivals::IsBelieved(Connection& connection, const OwnMessage& message, gen::PID from) {
  if (from.node == connection.peer() || message.kind == OwnMessage::Kind::kImportant) return true;
  needs_.claims.Note(connection, fmt::format("a message to {}", kOwnName), from);
  if (!message.reference.empty()) {
    Answer(connection, message.reference,
           gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{} is no process of {}", from.ToString(), connection.peer())));
  }
  return false;
}

gen::PID OwnArrivals::TargetOf(const OwnMessage& message) const {
  if (!message.to.node.empty()) return message.to;
  if (!message.alias.empty()) {
    const auto number = OwnNumberIn(message.alias, needs_.settings.node, needs_.settings.creation);
    return number ? needs_.addresses.aliases().Find(*number) : gen::PID();
  }
  const auto atom = gen::Atom::Find(message.name);
  return atom ? needs_.addresses.names().Find(*atom) : gen::PID();
}

std::uint64_t OwnArrivals::TagOf(const OwnMessage& message) const {
  if (!message.to.node.empty()) return 0;
  if (!message.alias.empty()) {
    return OwnNumberIn(message.alias, needs_.settings.node, needs_.settings.creation).value_or(0);
  }
  const auto atom = gen::Atom::Find(message.name);
  return atom ? gen::Target(*atom).Tag() : 0;
}

gen::Result<void> OwnArrivals::DeliverImportant(const OwnMessage& message, gen::PID from) {
  const gen::PID to = TargetOf(message);
  if (!to && !message.alias.empty()) {
    return gen::Error(gen::ErrorCode::kProcessUnknown,
                      Term::FromChecked(std::string(message.alias)).ToString());
  }
  if (!to) {
    return gen::Error(
        gen::ErrorCode::kProcessUnknown,
        gen::ProcessID{gen::Atom::Find(message.name).value_or(gen::Atom()), needs_.settings.node}
            .ToString());
  }
  auto read = needs_.values.Read(
      message.term, static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), TagOf(message));
  if (!read) return std::move(read.error());
  core::EnvelopePtr envelope = std::move(*read);
  envelope->from = from.ToAddress();
  envelope->flags |= core::Envelope::kFlagImportant;
  auto sent = needs_.delivery.Deliver(to, envelope);
  if (sent) needs_.totals.accepted.Add();
  return sent;
}

void OwnArrivals::TakePacks(Connection& connection, const OwnMessage& message) {
  auto packs = needs_.values.packed().Compare(message.term, needs_.settings.max_term_depth);
  if (packs) {
    connection.TakePacks(std::move(*packs));
  } else if (const auto more = unread_lines_.Take()) {
    gen::Log(needs_.log)
        .Warning("network: the types that {} packs: {}{}", connection.peer(), packs.error(), *more);
  }
}

void OwnArrivals::TakeInspect(Connection& connection, const OwnMessage& question, gen::PID from) {
  std::vector<std::string> items;
  const gen::PID to = TargetOf(question);
  const std::string_view wanted_name = ReadWantedType(question.term);
  const core::TypeDescriptor* const wanted = needs_.values.FindType(wanted_name);
  if (!wanted_name.empty() && wanted == nullptr) {
    Answer(
        connection, question.reference,
        gen::Error(gen::ErrorCode::kUnsupported,
                   fmt::format("{} is not registered at {}", wanted_name, needs_.settings.node)));
    return;
  }
  if (wanted == nullptr && !ReadItems(question.term, items)) {
    Answer(connection, question.reference,
           gen::Error(gen::ErrorCode::kIncorrect, "an inspection whose items are no texts"));
    return;
  }
  if (!to) {
    Answer(connection, question.reference, gen::ErrProcessUnknown);
    return;
  }
  PeerState::Request request;
  request.caller = from;
  request.asked = to;
  request.answer = PeerState::AnswerForm::kInspection;
  request.tag = question.reference;
  request.alias = question.reference;
  const std::uint64_t number = node::NextUniqueId();
  {
    std::lock_guard lock(connection.mutex());
    connection.relations().requests[number] = std::move(request);
  }
  core::EnvelopePtr envelope = gen::detail::MakeInspection(std::move(items), wanted);
  envelope->from = from.ToAddress();
  envelope->ref = number;
  const auto sent = needs_.delivery.Deliver(to, envelope);
  if (!sent) needs_.delivery.RespondError(from, number, sent.error());
}

void OwnArrivals::TakeLink(Connection& connection, const OwnMessage& message, gen::PID from) {
  const gen::PID watched = TargetOf(message);
  const std::uint64_t number = node::NextUniqueId();
  {
    // First: a process that ends takes the entry away.
    std::lock_guard lock(connection.mutex());
    const std::string raw(message.reference);
    if (!connection.relations().AddWatcher(number, {from, watched, {}, raw, true})) return;
  }
  node::ProcessCold::Watcher watcher{from, needs_.addresses.RefOf(number), from, true};
  if (watched && !message.name.empty()) {
    watcher.what = gen::ProcessID{gen::Atom(message.name), needs_.settings.node};
  } else if (watched && !message.alias.empty()) {
    const auto id = OwnNumberIn(message.alias, needs_.settings.node, needs_.settings.creation);
    watcher.what = gen::Alias{*id, needs_.settings.node, needs_.settings.creation};
  }
  if (watched && needs_.relations.AddWatcher(watcher, watched)) return;
  needs_.relations.TellWatcher(watcher, gen::Reason::NoProcess());
}

void OwnArrivals::TakeMakerEnd(Connection& connection, const OwnMessage& message) {
  PeerState::Watcher watcher;
  std::uint64_t number = 0;
  {
    std::lock_guard lock(connection.mutex());
    PeerState& relations = connection.relations();
    const auto known = relations.watcher_numbers.find(std::string(message.reference));
    if (known == relations.watcher_numbers.end()) return;
    number = known->second;
    const auto found = relations.watchers.find(number);
    if (!found->second.is_link) return;
    watcher = std::move(found->second);
    relations.watcher_numbers.erase(known);
    relations.watchers.erase(found);
  }
  needs_.relations.EndOfMaker(watcher.watched, needs_.addresses.RefOf(number), watcher.remote,
                              ReadReason(message.term, &needs_.values.atoms()));
}

void OwnArrivals::TakeUnlinked(Connection& connection, const OwnMessage& message) {
  const auto number =
      OwnNumberIn(message.reference, needs_.settings.node, needs_.settings.creation);
  if (!number) return;
  gen::PID local;
  {
    std::lock_guard lock(connection.mutex());
    auto& watches = connection.relations().watches;
    const auto found = watches.find(*number);
    if (found == watches.end() || !found->second.is_link) return;
    local = found->second.local;
    watches.erase(found);
  }
  needs_.relations.ForgetLinkByName(local, needs_.addresses.RefOf(*number));
}

void OwnArrivals::TakeSubscribe(Connection& connection, const OwnMessage& message, gen::PID from) {
  std::string missed;
  const auto outcome = needs_.events.TakeSubscribe(connection, message, from, missed);
  if (!outcome) {
    Answer(connection, message.reference, outcome);
    return;
  }
  std::string answer;
  TermWriter writer(answer);
  writer.Tuple(2);
  writer.Atom("ok");
  writer.Raw(missed);
  SendAnswer(connection, message.reference, answer);
}

// What was sent before the question is counted: it has been delivered, on this thread.
void OwnArrivals::AnswerRoom(Connection& connection, const OwnMessage& question) {
  const gen::PID to = TargetOf(question);
  const node::ProcessSlot* const process = to ? needs_.addresses.Find(to) : nullptr;
  if (process == nullptr) {
    Answer(connection, question.reference,
           to ? needs_.addresses.WhyUnreachable(to) : gen::Error(gen::ErrorCode::kProcessUnknown));
    return;
  }
  const core::Mailbox& mailbox = process->mailbox();
  std::string answer;
  TermWriter writer(answer);
  if (process->IsPool() || mailbox.IsRedirected()) {
    writer.Atom("unknown");  // that of a worker, or one with rules of its own
  } else {
    writer.Tuple(2);
    writer.Integer(mailbox.MainDepthApprox());
    writer.Integer(mailbox.capacity());
  }
  SendAnswer(connection, question.reference, answer);
}

void OwnArrivals::Answer(Connection& connection, std::string_view reference,
                         const gen::Result<void>& outcome) {
  std::string answer;
  if (outcome) {
    TermWriter(answer).Atom("ok");
  } else {
    AppendError(answer, outcome.error());
  }
  SendAnswer(connection, reference, answer);
}

void OwnArrivals::SendAnswer(Connection& connection, std::string_view reference,
                             std::string_view answer) {
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(reference);
  writer.Raw(answer);
  PeerState::Request request;
  request.tag = reference;
  request.alias = reference;
  std::lock_guard lock(connection.mutex());
  if (connection.state() == Connection::State::kDown) return;
  (void)AppendAnswerOrError(connection, request, needs_.addresses.NodePid(), payload);
}

// ---- what others answer

void OwnArrivals::TakeAnswer(const PeerState::Call& question, std::uint64_t number,
                             std::string_view answer) {
  ControlReader reader(answer, needs_.settings.max_term_depth);
  std::size_t size = 0;
  std::string_view word;
  std::string_view term;
  const bool is_pair =
      reader.ReadTuple(size) && size == 2 && reader.ReadAtom(word) && reader.ReadTerm(term);
  if (is_pair && word == "error") {
    needs_.delivery.RespondError(question.local, number, ReadError(term, &needs_.values.atoms()));
  } else if (question.question == PeerState::OwnQuestion::kSubscribe) {
    needs_.events.TakeMissed(question, number, is_pair && word == "ok" ? term : answer);
  } else if (question.question == PeerState::OwnQuestion::kInspect && is_pair &&
             word == kInspectionAs) {
    auto value = needs_.values.Read(term, static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse));
    if (value) {
      (void)needs_.delivery.Respond(question.local, number, std::move(*value));
    } else {
      needs_.delivery.RespondError(question.local, number, value.error());
    }
  } else if (question.question == PeerState::OwnQuestion::kInspect) {
    gen::Inspection inspection;
    if (!is_pair || !ReadInspection(term, inspection)) {
      needs_.delivery.RespondError(question.local, number,
                                   gen::Error(gen::ErrorCode::kIncorrect,
                                              "an inspection of " + node::TextOf(question.remote) +
                                                  " whose answer is no map of texts"));
      return;
    }
    (void)needs_.delivery.Respond(
        question.local, number,
        core::MakeEnvelope<gen::Inspection>(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                            core::Lane::kMain, std::move(inspection)));
  } else if (question.question == PeerState::OwnQuestion::kRoom) {
    (void)needs_.delivery.Respond(
        question.local, number,
        core::MakeEnvelope<Term>(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                 core::Lane::kMain, Term::FromChecked(std::string(answer))));
  } else {
    (void)needs_.delivery.Respond(question.local, number, EmptyResponse());
  }
}

void OwnArrivals::Refuse(Connection& connection) {
  std::vector<std::pair<std::uint64_t, PeerState::Call>> refused;
  std::vector<std::pair<std::uint64_t, gen::PID>> links;  // with their makers
  {
    std::lock_guard lock(connection.mutex());
    auto& calls = connection.relations().calls;
    for (auto at = calls.begin(); at != calls.end();) {
      // A call to an alias may have been sent, and will be answered as any other.
      if (at->second.question == PeerState::OwnQuestion::kNone ||
          at->second.question == PeerState::OwnQuestion::kCallOfAlias) {
        ++at;
        continue;
      }
      refused.emplace_back(at->first, at->second);
      at = calls.erase(at);
    }
    auto& watches = connection.relations().watches;
    for (auto at = watches.begin(); at != watches.end();) {
      if (at->second.is_link) links.emplace_back(at->first, at->second.local);
      at = at->second.is_link ? watches.erase(at) : std::next(at);
    }
  }
  for (const auto& [number, local] : links) {
    needs_.relations.LoseLinkByName(
        local, needs_.addresses.RefOf(number),
        gen::Reason::Error(
            NoErgonNode(PeerState::OwnQuestion::kLink, connection.peer()).ToString()));
  }
  for (const auto& [number, question] : refused) {
    needs_.delivery.RespondError(question.local, number,
                                 NoErgonNode(question.question, connection.peer()));
  }
}

}  // namespace ergon::dist
