// Names of nodes that come from outside.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/result.h>

namespace ergon::dist {

// `text` in single quotes for a message to people: one line, cut after 80 bytes, what is not
// printable ASCII as in "\x0a".
[[nodiscard]] std::string Quoted(std::string_view text);

// kIncorrect, with a text that says why: `name` is not of the form name@host with a single @, is
// longer than an atom may be, or has other characters than printable ASCII. (OTP writes the rest in
// Latin-1 in one place and in UTF-8 in others.)
[[nodiscard]] gen::Result<void> CheckPeerName(std::string_view name);
// The same for the part behind the @.
[[nodiscard]] gen::Result<void> CheckHost(std::string_view host);

// kIncorrect: these two, both checked as above, cannot be in one cluster: one has a short and the
// other a long name, which Erlang nodes do not connect, or both have the same.
[[nodiscard]] gen::Result<void> CheckPair(std::string_view own, std::string_view peer);

// Its host is an address or has a domain, as in "a@host.example": erl -name. Else it is short: erl
// -sname.
[[nodiscard]] bool IsLongName(std::string_view name) noexcept;

}  // namespace ergon::dist
