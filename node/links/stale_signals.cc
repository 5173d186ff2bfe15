#include <ergon/node/links/stale_signals.h>

#include <mutex>

#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/event.h>
#include <ergon/node/delivery/envelope_marks.h>

namespace ergon::node {

bool IsStale(ProcessSlot& receiver, const core::Envelope& signal) {
  if (KindOf(signal) != gen::EnvelopeKind::kExit || signal.ref == gen::kExplicitExit) {
    return false;
  }
  ProcessCold* cold = receiver.ColdIfAny();
  if (cold == nullptr) return true;
  const gen::PID other = gen::PID::FromAddress(signal.from);
  std::lock_guard lock(cold->lock);
  if (core::IsType<gen::MessageExitEvent>(signal.type)) {
    return !cold->subscriptions.Contains(signal.ref);
  }
  if (!IsOfPids(signal)) {
    return !cold->named_links.Contains(signal.ref);
  }
  return !cold->links.Contains(other);
}

}  // namespace ergon::node
