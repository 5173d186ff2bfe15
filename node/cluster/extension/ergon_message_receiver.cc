#include <ergon/node/cluster/extension/ergon_message_receiver.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/cluster/extension/ergon_signals.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/signals/signal_codec.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {
namespace {

core::EnvelopePtr EmptyResponse() {
  return core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                          core::Lane::kMain);
}

}  // namespace

// ---- what others ask

void ErgonMessageReceiver::Handle(Connection& connection, const Signal& signal) {
  const auto message =
      ReadErgonMessage(signal.payload, needs_.settings.node, needs_.settings.max_term_depth);
  if (!message) {
    if (signal.is_deep) ThrowTooDeep(needs_.settings.max_term_depth);
    if (const auto more = unread_lines_.Take()) {
      gen::Log(needs_.log)
          .Warning("network: {} sent a message to {} that this node does not understand{}",
                   connection.peer(), kErgonName, *more);
    }
    return;
  }
  if (!IsBelieved(connection, *message, signal.from)) return;
  switch (message->kind) {
    case ErgonMessage::Kind::kImportant:
      Answer(connection, message->reference, DeliverImportant(*message, signal));
      return;
    case ErgonMessage::Kind::kSubscribe:
      HandleSubscribe(connection, *message, signal.from);
      return;
    case ErgonMessage::Kind::kMark:
      needs_.events.HandleMark(connection, *message, signal.from);
      return;
    case ErgonMessage::Kind::kUnsubscribe:
      needs_.events.HandleUnsubscribe(connection, *message, signal.from);
      return;
    case ErgonMessage::Kind::kValue:
      needs_.events.HandleValue(connection, *message, signal.from, signal.trace);
      return;
    case ErgonMessage::Kind::kEventEnd:
      needs_.events.HandleEnd(connection, *message, signal.from);
      return;
    case ErgonMessage::Kind::kRoom:
      AnswerRoom(connection, *message);
      return;
    case ErgonMessage::Kind::kInspect:
      inspections_.HandleQuestion(connection, *message, signal.from, TargetOf(*message));
      return;
    case ErgonMessage::Kind::kLink:
      links_.HandleLink(connection, *message, signal.from, TargetOf(*message));
      return;
    case ErgonMessage::Kind::kMakerEnd:
      links_.HandleMakerEnd(connection, *message);
      return;
    case ErgonMessage::Kind::kUnlinked:
      links_.HandleUnlinked(connection, *message);
      return;
    case ErgonMessage::Kind::kPacks:
      HandlePacks(connection, *message);
      return;
    case ErgonMessage::Kind::kUnknown:
      if (!message->reference.empty()) {
        Answer(connection, message->reference,
               gen::Error(gen::ErrorCode::kUnsupported,
                          fmt::format("{} is too old for that", needs_.settings.node)));
      }
      return;
  }
}

bool ErgonMessageReceiver::IsBelieved(Connection& connection, const ErgonMessage& message,
                                      gen::PID from) {
  if (from.node == connection.peer() || message.kind == ErgonMessage::Kind::kImportant) return true;
  needs_.claims.Note(connection, fmt::format("a message to {}", kErgonName), from);
  if (!message.reference.empty()) {
    Answer(connection, message.reference,
           gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{} is no process of {}", from.ToString(), connection.peer())));
  }
  return false;
}

gen::PID ErgonMessageReceiver::TargetOf(const ErgonMessage& message) const {
  if (!message.to.node.empty()) return message.to;
  if (!message.alias.empty()) {
    const auto number = OwnNumberIn(message.alias, needs_.settings.node, needs_.settings.creation);
    return number ? needs_.addresses.aliases().Find(*number) : gen::PID();
  }
  const auto atom = gen::Atom::Find(message.name);
  return atom ? needs_.addresses.names().Find(*atom) : gen::PID();
}

std::uint64_t ErgonMessageReceiver::TagOf(const ErgonMessage& message) const {
  if (!message.to.node.empty()) return 0;
  if (!message.alias.empty()) {
    return OwnNumberIn(message.alias, needs_.settings.node, needs_.settings.creation).value_or(0);
  }
  const auto atom = gen::Atom::Find(message.name);
  return atom ? gen::Target(*atom).Tag() : 0;
}

gen::Result<void> ErgonMessageReceiver::DeliverImportant(const ErgonMessage& message,
                                                         const Signal& signal) {
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
  auto read =
      needs_.values.Read(message.term, static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage),
                         {.tag = TagOf(message)});
  if (!read) return std::move(read.error());
  core::EnvelopePtr envelope = std::move(*read);
  envelope->from = signal.from.ToAddress();
  envelope->flags |= core::Envelope::kFlagImportant;
  if (signal.trace != 0) gen::MarkTraced(*envelope, signal.trace);
  needs_.delivery.NoteSent(*envelope);
  auto sent = needs_.delivery.Deliver(to, envelope);
  if (sent) needs_.totals.accepted.Add();
  return sent;
}

void ErgonMessageReceiver::HandlePacks(Connection& connection, const ErgonMessage& message) {
  auto packs = needs_.values.packed().Compare(message.term, needs_.settings.max_term_depth);
  if (packs) {
    connection.TakePacks(std::move(*packs));
  } else if (const auto more = unread_lines_.Take()) {
    gen::Log(needs_.log)
        .Warning("network: the types that {} packs: {}{}", connection.peer(), packs.error(), *more);
  }
}

void ErgonMessageReceiver::HandleSubscribe(Connection& connection, const ErgonMessage& message,
                                           gen::PID from) {
  std::string answer;
  const auto outcome = needs_.events.HandleSubscribe(connection, message, from, answer);
  if (outcome) {
    Answer(connection, message.reference, answer);
  } else {
    Answer(connection, message.reference, outcome);
  }
  RemoteEvents::SendHeld(connection);
}

// What was sent before the question is counted: it has been delivered, on this thread.
void ErgonMessageReceiver::AnswerRoom(Connection& connection, const ErgonMessage& question) {
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
  if (process->IsPool() || mailbox.IsRedirected() || mailbox.IsMainRefused()) {
    writer.Atom("unknown");  // that of a worker, or one with rules of its own
  } else {
    writer.Tuple(2);
    writer.Integer(mailbox.MainDepthApprox());
    writer.Integer(mailbox.capacity());
  }
  Answer(connection, question.reference, answer);
}

void ErgonMessageReceiver::Answer(Connection& connection, std::string_view reference,
                                  std::string_view answer) const {
  AnswerQuestion(connection, reference, needs_.addresses.NodePid(), answer);
}

void ErgonMessageReceiver::Answer(Connection& connection, std::string_view reference,
                                  const gen::Result<void>& outcome) const {
  AnswerQuestion(connection, reference, needs_.addresses.NodePid(), outcome);
}

// ---- what others answer

void ErgonMessageReceiver::HandleAnswer(Connection& connection, const PeerState::Call& question,
                                        std::uint64_t number, std::string_view answer) {
  ControlReader reader(answer, needs_.settings.max_term_depth + kLevelsAround);
  std::size_t size = 0;
  std::string_view word;
  std::string_view term;
  const bool is_pair =
      reader.ReadTuple(size) && size == 2 && reader.ReadAtom(word) && reader.ReadTerm(term);
  const bool subscribes = question.question == PeerState::ErgonQuestion::kSubscribe;
  if (is_pair && word == "error") {
    if (subscribes) RemoteEvents::HandleRefusal(connection, question, number);
    needs_.delivery.RespondError(question.local, number, ReadError(term, &needs_.values.atoms()));
  } else if (subscribes) {
    needs_.events.HandleAnswer(connection, question, number, answer);
  } else if (question.question == PeerState::ErgonQuestion::kInspect) {
    inspections_.HandleAnswer(question, number, is_pair ? word : std::string_view(), term);
  } else if (question.question == PeerState::ErgonQuestion::kRoom) {
    (void)needs_.delivery.Respond(
        question.local, number,
        core::MakeEnvelope<Term>(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                 core::Lane::kMain, Term::FromChecked(std::string(answer))));
  } else {
    (void)needs_.delivery.Respond(question.local, number, EmptyResponse());
  }
}

void ErgonMessageReceiver::RefuseQuestions(Connection& connection) {
  std::vector<std::pair<std::uint64_t, PeerState::Call>> refused;
  bool is_foreign = false;
  {
    const auto lock = connection.Lock();
    is_foreign = connection.IsForeign();
    auto& calls = connection.peer_state().calls;
    for (auto at = calls.begin(); at != calls.end();) {
      const PeerState::Call& call = at->second;
      // A call to an alias may have reached its process. But nobody would tell of that one's end.
      const bool is_refused = call.spawns
                                  ? connection.RefusesSpawns()
                                  : is_foreign && call.question != PeerState::ErgonQuestion::kNone;
      if (!is_refused) {
        ++at;
        continue;
      }
      refused.emplace_back(at->first, at->second);
      at = calls.erase(at);
    }
  }
  if (is_foreign) links_.Refuse(connection);
  for (const auto& [number, call] : refused) {
    needs_.delivery.RespondError(call.local, number,
                                 call.spawns ? NoSpawningNode(connection.peer())
                                             : NoErgonNode(call.question, connection.peer()));
  }
}

}  // namespace ergon::dist
