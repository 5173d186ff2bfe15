#include <ergon/gen/response.h>

#include <stdexcept>

#include <fmt/core.h>

namespace ergon::gen {

const Error& Response::error() const {
  const Error* error = envelope_->ValueAs<Error>();
  if (error == nullptr) throw std::logic_error("there is no error, but " + TypeName());
  return *error;
}

namespace detail {

core::EnvelopePtr MakeErrorResponse(Error error) {
  return core::MakeEnvelope<Error>(static_cast<std::uint8_t>(EnvelopeKind::kError),
                                   core::Lane::kMain, std::move(error));
}

Error UnexpectedType(const core::Envelope& response, const core::TypeDescriptor& wanted) {
  return Error(ErrorCode::kUnexpectedType,
               fmt::format("asked for {}, got {}", wanted.Name(),
                           response.type == nullptr ? "nothing" : response.type->Name()));
}

}  // namespace detail
}  // namespace ergon::gen
