// What an error of the system means, in words.
#pragma once

#include <string>
#include <system_error>

namespace logpipe {

// Of a value of errno.
[[nodiscard]] inline std::string ErrorText(int error) {
  return std::generic_category().message(error);
}

}  // namespace logpipe
