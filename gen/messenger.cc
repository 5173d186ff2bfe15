#include <ergon/gen/messenger.h>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::gen {

Result<Inspection> Messenger::Inspect(const Target& to, std::vector<std::string> items,
                                      const CallOptions& options) {
  auto response = CallTarget(to, detail::MakeInspection(std::move(items), nullptr), options);
  if (!response) return std::move(response.error());
  return detail::TakeAnswer<Inspection>(**response);
}

Result<void> Messenger::SendResponseError(PID from, Ref ref, Error error) {
  return SendResponseEnvelope(from, ref, detail::MakeErrorResponse(std::move(error)));
}

Result<void> Messenger::CheckTimeout(const CallOptions& options) {
  if (options.timeout > std::chrono::nanoseconds::zero()) return {};
  return Error(ErrorCode::kIncorrect,
               fmt::format("timeout: {}, has to be more than 0", core::ExactTime(options.timeout)));
}

Result<core::EnvelopePtr> Messenger::CallTarget(const Target& to, core::EnvelopePtr request,
                                                const CallOptions& options) {
  if (options.timeout <= std::chrono::nanoseconds::zero()) [[unlikely]]
    return CheckTimeout(options).error();
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  return CallEnvelope(*pid, std::move(request), options.timeout);
}

}  // namespace ergon::gen
