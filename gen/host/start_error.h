// What went wrong where a child was started. For authors of behaviours.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/error.h>

namespace ergon::gen {

// Returns what a reason to end says of the error of a spawn, as in "panic: no database" or "name is taken: 'printer'".
[[nodiscard]] std::string StartErrorText(const Error& error);

// Returns the error of a spawn with what could not be started, as in "child 'printer'", in its text. Its code says the
// rest of what happened.
[[nodiscard]] Error StartErrorOf(std::string_view what, const Error& error);

}  // namespace ergon::gen
