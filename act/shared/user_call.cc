#include <ergon/act/shared/user_call.h>

namespace ergon::act {

gen::Status CallUser(gen::ProcessHost& host, Callbacks& callbacks, core::Envelope& envelope) {
  // Looked at before: the handler may forward the envelope, and then another process answers it.
  const bool is_request = IsRequest(envelope);
  const gen::PID from = SenderOf(envelope);
  const gen::Ref ref = RefOf(envelope);
  bool forwarded = false;
  gen::Status status = Dispatch(host, callbacks, envelope, &forwarded);
  if (status.stops() && is_request && !forwarded) {
    // Ignored if the caller has an answer.
    (void)host.SendResponseError(
        from, ref, gen::Error(gen::ErrorCode::kProcessTerminated, status.reason().ToString()));
  }
  return status;
}

}  // namespace ergon::act
