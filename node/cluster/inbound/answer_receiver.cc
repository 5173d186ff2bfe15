#include <ergon/node/cluster/inbound/answer_receiver.h>

#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/response.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/inbound/request_reader.h>
#include <ergon/node/cluster/signals/control_reader.h>
#include <ergon/node/cluster/signals/monitor_signals.h>
#include <ergon/node/cluster/signals/references.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/delivery/remote_names.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {
namespace {

// The error in an answer {error, Reason}. Empty: the answer is something else.
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

}  // namespace

bool AnswerReceiver::Handle(Connection& connection, const Signal& signal) {
  const std::size_t depth = needs_.settings.max_term_depth + kLevelsAround;  // as it was checked
  ControlReader reader(signal.payload, depth);
  std::size_t size = 0;
  std::string_view tag;
  std::string_view answer;
  if (!reader.ReadTuple(size) || !reader.ReadTerm(tag) || !reader.ReadTerm(answer)) return false;
  std::string_view reference = AliasIn(tag, depth);
  const bool is_tag_of_request = !reference.empty();
  if (!is_tag_of_request && !ControlReader(tag, depth).ReadReference(reference)) return false;
  const auto number = OwnNumberIn(reference, needs_.settings.node, needs_.settings.creation);
  if (!number) return false;
  const std::optional<gen::Error> error = ErrorIn(answer, depth, needs_.values.atoms());
  const Waiting waiting = RemoveWaiting(connection, *number, reference, error.has_value());
  if (waiting.link_maker) {
    needs_.relations.LoseLinkByName(waiting.link_maker, needs_.addresses.RefOf(*number),
                                    gen::Reason::Error(error->ToString()));
  } else if (waiting.call) {
    Respond(connection, *waiting.call, *number, answer, error, signal.trace);
  }
  // A late answer disturbs nobody. A reference may be one that a process has asked to get back.
  return is_tag_of_request || waiting.link_maker || waiting.call;
}

AnswerReceiver::Waiting AnswerReceiver::RemoveWaiting(Connection& connection, std::uint64_t number,
                                                      std::string_view reference, bool is_error) {
  Waiting waiting;
  const auto lock = connection.Lock();
  PeerState& peer = connection.peer_state();
  if (const auto found = peer.calls.find(number); found != peer.calls.end()) {
    const PeerState::Call& call = waiting.call.emplace(found->second);
    peer.calls.erase(found);
    const bool has_started = call.spawns && !node::IsName(call.remote);  // the peer has said whom
    if (has_started && call.links) {
      (void)peer.links.Link({call.local, call.remote});  // as the caller asked
    }
    if (has_started && call.monitors) {
      peer.watches[number] = {call.local, call.remote};
    } else if ((!call.spawns || has_started) && call.question == PeerState::ErgonQuestion::kNone) {
      connection.Send(EndOfMonitor(call.local, call.remote, reference), SentAs::kOwn);
    }
  } else if (const auto link = peer.watches.find(number);
             is_error && link != peer.watches.end() && link->second.is_link) {
    waiting.link_maker = link->second.local;
    peer.watches.erase(link);
  }
  return waiting;
}

void AnswerReceiver::Respond(Connection& connection, const PeerState::Call& call,
                             std::uint64_t number, std::string_view answer,
                             const std::optional<gen::Error>& error, gen::TraceId trace) {
  if (call.question != PeerState::ErgonQuestion::kNone &&
      call.question != PeerState::ErgonQuestion::kCallOfAlias) {
    needs_.ergon.HandleAnswer(connection, call, number, answer);
    return;
  }
  if (call.spawns && node::IsName(call.remote)) {
    needs_.delivery.RespondError(
        call.local, number,
        gen::Error(gen::ErrorCode::kInternal,
                   fmt::format("{} has answered before it has said which process it started",
                               connection.peer())));
    return;
  }
  if (call.spawns) {
    TellSpawned(connection, call, number);  // its Init is done
    return;
  }
  constexpr auto kKind = static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse);
  const auto respond = [&](core::EnvelopePtr response) {
    if (trace != 0) gen::MarkTraced(*response, trace);
    (void)needs_.delivery.Respond(call.local, number, std::move(response));
  };
  if (call.keeps_term) {
    respond(
        core::MakeEnvelope<Term>(kKind, core::Lane::kMain, Term::FromChecked(std::string(answer))));
    return;
  }
  auto value = needs_.values.Read(answer, kKind);
  if (!value) {
    needs_.delivery.RespondError(call.local, number, value.error());
    return;
  }
  // {error, Reason} is the error of the request, unless the program has registered a type of its own for that.
  if (error && core::IsType<Term>((*value)->type)) {
    respond(gen::detail::MakeErrorResponse(*error));
    return;
  }
  if (!node::IsAlias(call.remote)) (*value)->from = call.remote.ToAddress();
  respond(std::move(*value));
}

void AnswerReceiver::TellSpawned(Connection& connection, const PeerState::Call& call,
                                 std::uint64_t number) {
  const gen::Ref ref = needs_.addresses.RefOf(number);
  Term answer = Term::Of(call.remote);
  // This thread makes the link: until the caller goes on, the other process or the connection may have ended.
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
  // The caller has stopped waiting, and will not wait for the end of a process that it was not told of.
  needs_.relations.ForgetSpawned(call.local, call.remote, ref);
  const auto lock = connection.Lock();
  connection.peer_state().watches.erase(number);
  (void)connection.peer_state().links.End({call.local, call.remote});
  EndAbandoned(connection, needs_.addresses.NodePid(), call.remote, SentAs::kOwn);
}

void AnswerReceiver::HandleSpawnReply(Connection& connection, const Signal& signal) {
  const auto number = OwnNumberIn(signal.ref, needs_.settings.node, needs_.settings.creation);
  const bool is_started = !signal.from.node.empty();
  bool is_ready = false;  // a process of Erlang, which has no Init
  PeerState::Call call;
  {
    const auto lock = connection.Lock();
    auto& calls = connection.peer_state().calls;
    const auto found = number ? calls.find(*number) : calls.end();
    const bool is_ours = found != calls.end() && found->second.spawns;
    if (is_ours && is_started &&
        needs_.delivery.IsAwaited(found->second.local, needs_.addresses.RefOf(*number)) &&
        connection.IsForeign()) {
      is_ready = true;
      found->second.remote = signal.from;
      PeerState& peer = connection.peer_state();
      if (found->second.links) (void)peer.links.Link({found->second.local, signal.from});
      if (found->second.monitors) {
        peer.watches[*number] = {found->second.local, signal.from};
      } else {
        connection.Send(EndOfMonitor(found->second.local, signal.from, signal.ref), SentAs::kOwn);
      }
    } else if (is_ours && is_started &&
               needs_.delivery.IsAwaited(found->second.local, needs_.addresses.RefOf(*number))) {
      if (node::IsName(found->second.remote)) {
        found->second.remote = signal.from;  // RemoteCode there tells when its Init is done
      } else if (found->second.remote != signal.from) {  // a second process for one call
        EndAbandoned(connection, needs_.addresses.NodePid(), signal.from, SentAs::kAnswer);
      }
      return;
    }
    if (is_started && !is_ready) {
      EndAbandoned(connection, needs_.addresses.NodePid(), signal.from, SentAs::kAnswer);
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

}  // namespace ergon::dist
