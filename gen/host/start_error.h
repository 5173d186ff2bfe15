// What went wrong where a child was started, as a text. For authors of behaviours.
#pragma once

#include <string>

#include <ergon/gen/error.h>

namespace ergon::gen {

// Returns what a reason to end says of the error of a spawn, as in "panic: no database" or "name is taken: 'printer'".
[[nodiscard]] std::string StartErrorText(const Error& error);

}  // namespace ergon::gen
