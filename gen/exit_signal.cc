#include <ergon/gen/exit_signal.h>

#include <ergon/gen/event.h>
#include <ergon/gen/notices.h>

namespace ergon::gen {
namespace {

template <class Signal>
const Reason* ReasonIn(core::Envelope& envelope) noexcept {
  const auto* signal = envelope.ValueAs<Signal>();
  return signal == nullptr ? nullptr : &signal->reason;
}

}  // namespace

const Reason* ReasonOfExit(const core::Envelope& envelope) noexcept {
  auto& signal = const_cast<core::Envelope&>(envelope);
  if (const Reason* reason = ReasonIn<MessageExitPID>(signal)) return reason;
  if (const Reason* reason = ReasonIn<MessageExitProcessID>(signal)) return reason;
  if (const Reason* reason = ReasonIn<MessageExitAlias>(signal)) return reason;
  return ReasonIn<MessageExitEvent>(signal);
}

}  // namespace ergon::gen
