// Links of processes of one node with processes of another, as signals. common_signals.h has their end, an exit signal.
#pragma once

#include <cstdint>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// `from` links itself with `to`.
[[nodiscard]] inline Signal LinkTo(gen::PID to, gen::PID from) {
  return {.kind = SignalKind::kLink, .from = from, .to = to};
}
// `from` ends the link. `id` is not 0; it comes back with the acknowledgement.
[[nodiscard]] inline Signal UnlinkTo(gen::PID to, gen::PID from, std::uint64_t id) {
  return {.kind = SignalKind::kUnlink, .from = from, .to = to, .id = id};
}
[[nodiscard]] inline Signal UnlinkAckTo(gen::PID to, gen::PID from, std::uint64_t id) {
  return {.kind = SignalKind::kUnlinkAck, .from = from, .to = to, .id = id};
}

}  // namespace ergon::dist
