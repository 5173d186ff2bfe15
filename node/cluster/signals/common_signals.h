// Signals that more than one room sends. Each signal is a view of the texts that it is made of.
#pragma once

#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// Each of these three returns a message. `payload` is a term.
[[nodiscard]] inline Signal MessageTo(gen::PID to, gen::PID from, std::string_view payload) {
  return {.kind = SignalKind::kSend, .from = from, .to = to, .payload = payload};
}
[[nodiscard]] inline Signal MessageToName(std::string_view name, gen::PID from,
                                          std::string_view payload) {
  return {.kind = SignalKind::kSendToName, .from = from, .name = name, .payload = payload};
}
// `alias` is a reference, as a term.
[[nodiscard]] inline Signal MessageToAlias(std::string_view alias, gen::PID from,
                                           std::string_view payload) {
  return {.kind = SignalKind::kSendToAlias, .from = from, .ref = alias, .payload = payload};
}

// Tells `to`, which is linked with `from`, that `from` has ended.
[[nodiscard]] inline Signal ExitTo(gen::PID to, gen::PID from, std::string_view reason) {
  return {.kind = SignalKind::kExit, .from = from, .to = to, .payload = reason};
}
// Asks `to` to end, in the name of `from`.
[[nodiscard]] inline Signal ExitRequestTo(gen::PID to, gen::PID from, std::string_view reason) {
  return {.kind = SignalKind::kExitRequest, .from = from, .to = to, .payload = reason};
}

}  // namespace ergon::dist
