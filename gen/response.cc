#include <ergon/gen/response.h>

#include <stdexcept>

namespace ergon::gen {

const Error& Response::error() const {
  const Error* error = envelope_->ValueAs<Error>();
  if (error == nullptr) throw std::logic_error("there is no error, but " + TypeName());
  return *error;
}

Error Response::UnexpectedType(const core::TypeDescriptor& wanted) const {
  return Error(ErrorCode::kUnexpectedType,
               fmt::format("asked for {}, got {}", wanted.Name(), TypeName()));
}

}  // namespace ergon::gen
