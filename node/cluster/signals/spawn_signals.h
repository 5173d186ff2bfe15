// Answers to spawn requests of other nodes, as signals. Each is a view of the texts that it is made of.
#pragma once

#include <cstdint>
#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// Tells `to` that its request with the reference `request` has started `process`. `links` says which of kLinked and
// kMonitored were made.
[[nodiscard]] inline Signal SpawnReplyTo(gen::PID to, gen::PID process, std::string_view request,
                                         std::uint8_t links) {
  return {
      .kind = SignalKind::kSpawnReply, .from = process, .to = to, .ref = request, .links = links};
}
// Tells `to` that its request has started no process. `why` is an atom, as a term.
[[nodiscard]] inline Signal SpawnRefusalTo(gen::PID to, std::string_view request,
                                           std::string_view why) {
  return {.kind = SignalKind::kSpawnReply, .to = to, .ref = request, .payload = why};
}

}  // namespace ergon::dist
