// Messages to the name $ergon of another node, as signals; ergon_messages.h says what they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/answer_signals.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/signals/common_signals.h>
#include <ergon/node/cluster/signals/ergon_messages.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// `payload` is such a message; the signal is a view of it.
[[nodiscard]] inline Signal ErgonSignal(gen::PID from, std::string_view payload) {
  return MessageToName(kErgonName, from, payload);
}

// Sends a question with the number `id`, and `first`, if not null, before it, and notes which process the answer is
// for. With the lock. Returns kUnsupported if the peer does not run Ergon, and the errors of Connection::Accepts and
// TrySend.
inline gen::Result<void> SendQuestion(Connection& connection, const PeerState::Call& question,
                                      std::uint64_t id, const Signal& signal,
                                      const Signal* first = nullptr) {
  if (connection.IsForeign()) return NoErgonNode(question.question, connection.peer());
  auto accepts = connection.Accepts(question.remote);
  if (!accepts) return accepts;
  if (first != nullptr) connection.Send(*first, SentAs::kOwn);
  auto asked = connection.TrySend(signal, SentAs::kOwn);
  if (asked) connection.peer_state().calls[id] = question;
  return asked;
}

// Answers a question with a term. Takes the lock.
inline void AnswerQuestion(Connection& connection, std::string_view reference, gen::PID from,
                           std::string_view answer) {
  PeerState::Request request;
  request.tag = reference;
  request.alias = reference;
  SendAnswer(connection, request, from, answer);
}
// Answers ok, or the error.
inline void AnswerQuestion(Connection& connection, std::string_view reference, gen::PID from,
                           const gen::Result<void>& outcome) {
  std::string answer;
  if (outcome) {
    TermWriter(answer).Atom("ok");
  } else {
    AppendError(answer, outcome.error());
  }
  AnswerQuestion(connection, reference, from, std::string_view(answer));
}

}  // namespace ergon::dist
