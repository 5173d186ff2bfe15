// Names of types for people.
#pragma once

#include <string>

namespace ergon::core {

// Turns a mangled type name into the name as written in C++. Any thread.
[[nodiscard]] std::string Demangle(const char* mangled);

}  // namespace ergon::core
