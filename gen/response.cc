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
               fmt::format("asked for {}, got {}", wanted.TagOrName(),
                           response.type == nullptr ? "nothing" : response.type->TagOrName()));
}

Result<std::int64_t> TakeInteger(core::Envelope& response, const core::TypeDescriptor& wanted,
                                 std::int64_t least, std::uint64_t most) {
  const auto* const integer = response.ValueAs<std::int64_t>();
  if (integer == nullptr) return UnexpectedType(response, wanted);
  if (*integer >= least && (*integer < 0 || static_cast<std::uint64_t>(*integer) <= most)) {
    return *integer;
  }
  return Error(ErrorCode::kUnexpectedType,
               fmt::format("asked for {}, got {}", wanted.TagOrName(), *integer));
}

}  // namespace detail
}  // namespace ergon::gen
