#include <ergon/gen/messenger.h>

#include <fmt/core.h>

namespace ergon::gen {

Result<Inspection> Messenger::Inspect(const Target& to, std::vector<std::string> items,
                                      const CallOptions& options) {
  auto response = CallTarget(to, detail::MakeInspection(std::move(items), nullptr), options);
  if (!response) return std::move(response.error());
  return detail::TakeResponse<Inspection>(**response);
}

Result<void> Messenger::SendResponseError(PID from, Ref ref, Error error) {
  return SendResponseEnvelope(from, ref, detail::MakeErrorResponse(std::move(error)));
}

MessagePriority Messenger::PriorityOf(const CallOptions& options) const noexcept {
  return options.priority.value_or(DefaultPriority());
}

Result<void> Messenger::CheckTimeout(const CallOptions& options) {
  if (options.timeout > std::chrono::nanoseconds::zero()) return {};
  return Error(ErrorCode::kIncorrect,
               fmt::format("timeout: {} ns, has to be more than 0", options.timeout.count()));
}

Result<core::EnvelopePtr> Messenger::CallTarget(const Target& to, core::EnvelopePtr request,
                                                const CallOptions& options) {
  if (options.timeout <= std::chrono::nanoseconds::zero()) [[unlikely]]
    return CheckTimeout(options).error();
  const PID* const given = to.AsPID();
  PID pid;
  if (given != nullptr) [[likely]] {
    pid = *given;
  } else {
    auto found = Resolve(to);
    if (!found) return std::move(found.error());
    pid = *found;
  }
  auto response = CallEnvelope(pid, std::move(request), options.timeout);
  if (!response) return response;
  if ((*response)->kind == static_cast<std::uint8_t>(EnvelopeKind::kError)) {
    return std::move(*(*response)->ValueAs<Error>());
  }
  return response;
}

}  // namespace ergon::gen
