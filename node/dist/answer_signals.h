// Answers to requests of other nodes, and words to those that nobody wants any more, as signals.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/dist/connection.h>
#include <ergon/node/dist/peer_state.h>
#include <ergon/node/dist/signal.h>
#include <ergon/node/erlang_encoding.h>

namespace ergon::dist {

// To the alias that came with the request, else to its caller. `payload` is {Tag, Answer}; the signal is a view of it and
// of the request.
[[nodiscard]] inline Signal AnswerTo(const PeerState::Request& request, gen::PID from,
                                     std::string_view payload) {
  Signal signal;
  signal.from = from;
  signal.payload = payload;
  if (request.alias.empty()) {
    signal.kind = SignalKind::kSend;
    signal.to = request.caller;
  } else {
    signal.kind = SignalKind::kSendToAlias;
    signal.ref = request.alias;
  }
  return signal;
}

// Appends an exit signal to a process there that was started for one who waits for it no more. With the lock.
inline void AppendAbandoned(Connection& connection, gen::PID from, gen::PID process) {
  std::string reason;
  TermWriter(reason).Atom("kill");
  Signal signal;
  signal.kind = SignalKind::kExitRequest;
  signal.from = from;
  signal.to = process;
  signal.payload = reason;
  connection.Append(signal);
}

}  // namespace ergon::dist
