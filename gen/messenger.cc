#include <ergon/gen/messenger.h>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::gen {
namespace {

// The only object that it returns is made where its caller wants it.
[[gnu::always_inline]] inline Result<core::EnvelopePtr> CallAndTakeError(
    Messenger& messenger, PID to, core::EnvelopePtr& request, std::chrono::nanoseconds timeout) {
  auto response = messenger.CallEnvelope(to, std::move(request), timeout);
  if (response && (*response)->kind == static_cast<std::uint8_t>(EnvelopeKind::kError))
      [[unlikely]] {
    Error error = std::move(*(*response)->ValueAs<Error>());
    response = std::move(error);
  }
  return response;
}

}  // namespace

Result<Inspection> Messenger::Inspect(const Target& to, std::vector<std::string> items,
                                      const CallOptions& options) {
  auto response = CallTarget(to, detail::MakeInspection(std::move(items), nullptr), options);
  if (!response) return std::move(response.error());
  return detail::TakeResponse<Inspection>(**response);
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
  if (const PID* const given = to.AsPID()) [[likely]]
    return CallAndTakeError(*this, *given, request, options.timeout);
  auto found = Resolve(to);
  if (!found) return std::move(found.error());
  return CallAndTakeError(*this, *found, request, options.timeout);
}

}  // namespace ergon::gen
