// When two terms are the same value.
#pragma once

#include <string>
#include <string_view>

namespace ergon::dist {

// Returns bytes that are the same for two terms exactly when the terms are equal in Erlang (=:=), however they are
// written: numbers and atoms have several forms, lists of bytes have a form of their own, and maps have any order. 0.0
// and -0.0 are not equal, as of OTP 27. Functions with variables in them are equal only if one node has written both.
// The bytes are no term; a large entry of a map that is in another map is a digest (SHA-256) in them. `term` must have
// been checked. Any thread; does not recurse.
[[nodiscard]] std::string CanonicalTerm(std::string_view term);

}  // namespace ergon::dist
