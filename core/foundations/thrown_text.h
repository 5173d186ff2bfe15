// The text of what user code has thrown, for an error.
#pragma once

#include <string>

namespace ergon::core {

// Returns the exception's own text, or for one without a text a description, as in "an exception of type int". To be
// called inside a catch (...).
[[nodiscard]] std::string ThrownText();
// Sets a function that ThrownText calls for what is neither a std::exception nor a text: it returns the text of a type
// that a layer above knows, or an empty one. Before main.
void SetTextOfThrown(std::string (*function)()) noexcept;

}  // namespace ergon::core
