// Monitors of processes of other nodes by processes of this one, as signals.
#pragma once

#include <string_view>

#include <ergon/gen/pid.h>
#include <ergon/node/cluster/signals/signal.h>
#include <ergon/node/delivery/remote_names.h>

namespace ergon::dist {

// Makes `local` monitor `remote`, which may be a name (node::IsName). `reference` is a term; the signal is a view of
// it. An alias cannot be monitored. Only EndOfMonitor takes an alias: it ends the request with that reference, a
// monitor without a target.
[[nodiscard]] inline Signal MonitorOf(gen::PID local, gen::PID remote, std::string_view reference) {
  Signal signal{.kind = SignalKind::kMonitor, .from = local, .ref = reference};
  if (node::IsName(remote)) {
    signal.name = node::NameOf(remote).name.Text();
  } else if (!node::IsAlias(remote)) {
    signal.to = remote;
  }
  return signal;
}

// Ends the monitor that MonitorOf has made with these arguments.
[[nodiscard]] inline Signal EndOfMonitor(gen::PID local, gen::PID remote,
                                         std::string_view reference) {
  Signal signal = MonitorOf(local, remote, reference);
  signal.kind = SignalKind::kDemonitor;
  return signal;
}

}  // namespace ergon::dist
