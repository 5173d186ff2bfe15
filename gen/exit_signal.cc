#include <ergon/gen/exit_signal.h>

#include <ergon/gen/event.h>
#include <ergon/gen/notices.h>

namespace ergon::gen {
namespace {

template <class Signal>
const Reason* ReasonIn(const core::Envelope& envelope) noexcept {
  const auto* signal = envelope.ValueAs<Signal>();
  return signal == nullptr ? nullptr : &signal->reason;
}

}  // namespace

const Reason* ReasonOfExit(const core::Envelope& envelope) noexcept {
  if (const Reason* reason = ReasonIn<MessageExitPID>(envelope)) return reason;
  if (const Reason* reason = ReasonIn<MessageExitProcessID>(envelope)) return reason;
  if (const Reason* reason = ReasonIn<MessageExitAlias>(envelope)) return reason;
  return ReasonIn<MessageExitEvent>(envelope);
}

}  // namespace ergon::gen
