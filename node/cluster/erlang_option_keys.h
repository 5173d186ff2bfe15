// dist::ErlangOptions as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <ergon/gen/result.h>
#include <ergon/node/erlang/options.h>

namespace ergon::dist {

// The key is the name of a field, as in "tls.certificate_file".
struct ErlangOptionKey {
  std::string_view name;
  bool may_change;  // while the node runs
  // Returns null, or, if the text is not a value of this option, what the value has to be.
  const char* (*set)(ErlangOptions& options, std::string_view text);
  std::string (*get)(const ErlangOptions& options);
};
// Returns all options except the cookie, which others must not read, and those that cannot be written as text.
[[nodiscard]] std::span<const ErlangOptionKey> ErlangOptionKeys();

// Returns the option with that key, or kIncorrect, with a text that begins with "network." and the key.
[[nodiscard]] gen::Result<const ErlangOptionKey*> FindErlangOption(std::string_view key);

}  // namespace ergon::dist
