#include <ergon/gen/process.h>

namespace ergon::gen {

Result<Ref> Process::RequestTarget(const Target& to, core::EnvelopePtr& request,
                                   const CallOptions& options) {
  auto checked = CheckTimeout(options);
  if (!checked) return std::move(checked.error());
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  return RequestEnvelope(*pid, request, options.timeout);
}

}  // namespace ergon::gen
