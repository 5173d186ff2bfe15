// Signals that answer requests of other nodes, and signals that end processes there that nobody waits for any more.
#pragma once

#include <new>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/peer_watchers.h>
#include <ergon/node/cluster/signals/common_signals.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/cluster/values/reasons.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// Returns the signal that brings an answer to the alias that came with the request, else to its caller. `payload` is
// {Tag, Answer}; the signal is a view of it and of the request.
[[nodiscard]] inline Signal AnswerTo(const PeerState::Request& request, gen::PID from,
                                     std::string_view payload) {
  Signal signal = request.alias.empty() ? MessageTo(request.caller, from, payload)
                                        : MessageToAlias(request.alias, from, payload);
  signal.trace = request.trace;
  return signal;
}

// Sends the answer `payload`, as AnswerTo says. If it is larger than the peer takes, or there is no memory for it,
// returns the error, and sends the answer that `instead` makes, so that the caller does not wait in vain. With the
// lock. Returns kNoConnection if the connection is down.
template <class Instead>
gen::Result<void> SendAnswerOr(Connection& connection, const PeerState::Request& request,
                               gen::PID from, std::string_view payload, Instead&& instead) {
  gen::Result<void> sent;
  try {
    sent = connection.TrySend(AnswerTo(request, from, payload), SentAs::kAwaitedAnswer);
  } catch (const std::bad_alloc&) {
    sent = gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("there is no memory for an answer of {} bytes", payload.size()));
  }
  if (sent) return sent;
  std::string error;
  TermWriter writer(error);
  writer.Tuple(2);
  writer.Raw(request.tag);
  instead(error, sent.error());
  connection.Send(AnswerTo(request, from, error), SentAs::kAnswer);
  return sent;
}
// Does the same; the other answer is {error, Why}.
inline gen::Result<void> SendAnswerOrError(Connection& connection,
                                           const PeerState::Request& request, gen::PID from,
                                           std::string_view payload) {
  return SendAnswerOr(connection, request, from, payload,
                      [](std::string& out, const gen::Error& why) { AppendError(out, why); });
}

// Sends {Tag, Answer} to a request, where `answer` is a term. Takes the lock.
inline void SendAnswer(Connection& connection, const PeerState::Request& request, gen::PID from,
                       std::string_view answer) {
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(request.tag);
  writer.Raw(answer);
  const auto lock = connection.Lock();
  // An answer that quotes the request may be as large as that.
  (void)SendAnswerOrError(connection, request, from, payload);
}

// Returns the signal that tells a watcher of the end; it is a view of its reference and of the reason, terms.
[[nodiscard]] inline Signal DownFor(const PeerWatcher& watcher, std::string_view reference,
                                    std::string_view reason) {
  return {.kind = SignalKind::kDown,
          .from = watcher.name.empty() ? watcher.watched : gen::PID(),
          .to = watcher.remote,
          .name = watcher.name.Text(),
          .ref = reference,
          .payload = reason};
}

// Sends a signal whose payload is the exit reason of a process. If the reason is larger than the peer takes, the peer
// gets a reason that says so, because the end itself must be told. `head` stands before the reason in the payload. With
// the lock.
inline void SendEnd(Connection& connection, Signal signal, std::string_view head = {}) {
  const auto sent = connection.TrySend(signal, SentAs::kAnswer);
  if (sent) return;
  std::string payload(head);
  AppendReason(payload, gen::Reason::Error(fmt::format("its reason: {}", sent.error().detail())));
  signal.payload = payload;
  connection.Send(signal, SentAs::kAnswer);
}

// Sends an exit signal to a process there for whose start nobody here waits any more. With the lock. It is an answer if
// the peer has told of the process: the peer may tell of any number.
inline void EndAbandoned(Connection& connection, gen::PID from, gen::PID process, SentAs as) {
  std::string reason;
  TermWriter(reason).Atom("kill");
  connection.Send(ExitRequestTo(process, from, reason), as);
}

}  // namespace ergon::dist
