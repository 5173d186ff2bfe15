// Names of nodes that come from outside.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/result.h>

namespace ergon::dist {

// Returns `text` in single quotes for a message to people: one line, cut after 80 bytes, with other characters than
// printable ASCII as in "\x0a".
[[nodiscard]] std::string Quoted(std::string_view text);

// Returns kIncorrect, with a text that says why, if `name` does not have the form name@host with a single @, is
// longer than an atom may be, or has other characters than printable ASCII. (OTP writes other characters in
// Latin-1 in one place and in UTF-8 in others.)
[[nodiscard]] gen::Result<void> CheckPeerName(std::string_view name);
// Checks the part behind the @ in the same way.
[[nodiscard]] gen::Result<void> CheckHost(std::string_view host);

// Returns kIncorrect if two nodes, whose names have been checked as above, cannot be in one cluster: one has a short
// name and the other a long name, which Erlang nodes do not connect, or both have the same name.
[[nodiscard]] gen::Result<void> CheckPair(std::string_view own, std::string_view peer);

// Returns whether the host of a name is an address or has a domain, as in "a@host.example": erl -name. Else the name
// is short: erl -sname.
[[nodiscard]] bool IsLongName(std::string_view name) noexcept;

}  // namespace ergon::dist
