// Links of processes of one node with processes of another, as signals. common_signals.h has the exit signals that end
// links.
#pragma once

#include <cstdint>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// Links `from` with `to`, at the wish of `from`.
[[nodiscard]] inline Signal LinkTo(gen::PID to, gen::PID from) {
  return {.kind = SignalKind::kLink, .from = from, .to = to};
}
// Ends the link, at the wish of `from`. `id` is not 0; it comes back with the acknowledgement.
[[nodiscard]] inline Signal UnlinkTo(gen::PID to, gen::PID from, std::uint64_t id) {
  return {.kind = SignalKind::kUnlink, .from = from, .to = to, .id = id};
}
// Acknowledges UnlinkTo with the same `id`.
[[nodiscard]] inline Signal UnlinkAckTo(gen::PID to, gen::PID from, std::uint64_t id) {
  return {.kind = SignalKind::kUnlinkAck, .from = from, .to = to, .id = id};
}

}  // namespace ergon::dist
