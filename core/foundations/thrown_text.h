// The text of what user code has thrown, for an error.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <string>
#include <typeinfo>

#include <ergon/core/foundations/demangle.h>

namespace ergon::core {

// Returns the exception's own text, or for one without a text a description, as in "an exception of type int". To be
// called inside a catch (...).
[[nodiscard]] inline std::string ThrownText() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type == nullptr ? std::string("an exception of another language")
                           : "an exception of type " + Demangle(type->name());
  }
}

}  // namespace ergon::core
