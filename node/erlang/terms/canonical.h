// When two terms are the same value.
#pragma once

#include <string>
#include <string_view>

namespace ergon::dist {

// Bytes that are the same for two terms exactly when these are equal in Erlang (=:=), however they
// are written: numbers and atoms in several ways, lists of bytes as such, maps in any order. 0.0
// and -0.0 are not equal, as of OTP 27, and functions with variables in them only as one node
// writes them. They are no term. `term` must have been checked. Any thread; does not recurse.
[[nodiscard]] std::string CanonicalTerm(std::string_view term);

}  // namespace ergon::dist
