#include <ergon/gen/host/start_error.h>

namespace ergon::gen {

std::string StartErrorText(const Error& error) {
  const bool says_all =
      error == ErrProcessTerminated || error == ErrTimeout || error == ErrIncorrect;
  return says_all && !error.detail().empty() ? std::string(error.detail()) : error.ToString();
}

}  // namespace ergon::gen
