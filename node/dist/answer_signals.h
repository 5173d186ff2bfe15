// Answers to requests of other nodes, as signals.
#pragma once

#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/dist/peer_state.h>
#include <ergon/node/dist/signal.h>

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

}  // namespace ergon::dist
