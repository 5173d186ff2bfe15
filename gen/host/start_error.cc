#include <ergon/gen/host/start_error.h>

#include <fmt/core.h>

namespace ergon::gen {

std::string StartErrorText(const Error& error) {
  const bool says_all =
      error == ErrProcessTerminated || error == ErrTimeout || error == ErrIncorrect;
  return says_all && !error.detail().empty() ? std::string(error.detail()) : error.ToString();
}

Error StartErrorOf(std::string_view what, const Error& error) {
  const std::string why(error.detail().empty() ? error.ToString() : error.detail());
  return Error(error.code(), fmt::format("{}: {}", what, why));
}

}  // namespace ergon::gen
