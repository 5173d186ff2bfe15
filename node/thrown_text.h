// What user code has thrown, for an error's text.
#pragma once

#include <exception>
#include <string>

namespace ergon::node {

// Inside of a catch (...): the exception's own words, or "what is no std::exception".
[[nodiscard]] inline std::string ThrownText() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "what is no std::exception";
  }
}

}  // namespace ergon::node
