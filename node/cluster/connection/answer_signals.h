// Signals that answer requests of other nodes, and signals that end processes there that nobody waits for any more.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/peer_state.h>
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

// Appends the answer `payload`, as AnswerTo says. If it is larger than the peer takes, returns the error, and appends
// the answer that `instead` makes, so that the caller does not wait in vain. With the lock.
template <class Instead>
gen::Result<void> AppendAnswerOr(Connection& connection, const PeerState::Request& request,
                                 gen::PID from, std::string_view payload, Instead&& instead) {
  auto appended = connection.AppendAnswer(AnswerTo(request, from, payload));
  if (appended) return appended;
  std::string error;
  TermWriter writer(error);
  writer.Tuple(2);
  writer.Raw(request.tag);
  instead(error, appended.error());
  connection.Append(AnswerTo(request, from, error));
  return appended;
}
// Does the same; the other answer is {error, Why}.
inline gen::Result<void> AppendAnswerOrError(Connection& connection,
                                             const PeerState::Request& request, gen::PID from,
                                             std::string_view payload) {
  return AppendAnswerOr(connection, request, from, payload,
                        [](std::string& out, const gen::Error& why) { AppendError(out, why); });
}

// Sends {Tag, Answer} to a request, where `answer` is a term, unless the connection is down. Takes the lock.
inline void SendAnswer(Connection& connection, const PeerState::Request& request, gen::PID from,
                       std::string_view answer) {
  std::string payload;
  TermWriter writer(payload);
  writer.Tuple(2);
  writer.Raw(request.tag);
  writer.Raw(answer);
  std::lock_guard lock(connection.mutex());
  if (connection.state() == Connection::State::kDown) return;
  // An answer that quotes the request may be as large as that.
  (void)AppendAnswerOrError(connection, request, from, payload);
}

// Returns the signal that tells a watcher of the end; it is a view of the watcher and of the reason, a term.
[[nodiscard]] inline Signal DownFor(const PeerState::Watcher& watcher, std::string_view reason) {
  return {.kind = SignalKind::kDown,
          .from = watcher.name.empty() ? watcher.watched : gen::PID(),
          .to = watcher.remote,
          .name = watcher.name,
          .ref = watcher.raw,
          .payload = reason};
}

// Appends a signal whose payload is the exit reason of a process. If the reason is larger than the peer takes, the peer
// gets a reason that says so, because the end itself must be told. `head` stands before the reason in the payload. With
// the lock.
inline void AppendEnd(Connection& connection, Signal signal, std::string_view head = {}) {
  const auto appended = connection.TryAppend(signal);
  if (appended) return;
  std::string payload(head);
  AppendReason(payload,
               gen::Reason::Error(fmt::format("its reason: {}", appended.error().detail())));
  signal.payload = payload;
  connection.Append(signal);
}

// Appends an exit signal to a process there whose starter has stopped waiting for it. With the lock.
inline void AppendAbandoned(Connection& connection, gen::PID from, gen::PID process) {
  std::string reason;
  TermWriter(reason).Atom("kill");
  connection.AppendOwn(ExitRequestTo(process, from, reason));
}
// The same to a process that a peer tells of and that nobody here waits for. It counts as an answer: the peer may tell of any
// number.
inline void AnswerAbandoned(Connection& connection, gen::PID from, gen::PID process) {
  std::string reason;
  TermWriter(reason).Atom("kill");
  connection.Append(ExitRequestTo(process, from, reason));
}

}  // namespace ergon::dist
