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
  // Returns what a value has to be if the text is none, else null.
  const char* (*set)(ErlangOptions& options, std::string_view text);
  std::string (*get)(const ErlangOptions& options);
};
// All but the cookie, which is no text for others to read, and what no text can say.
[[nodiscard]] std::span<const ErlangOptionKey> ErlangOptionKeys();

// kIncorrect, with a text that begins with "network." and the key.
[[nodiscard]] gen::Result<const ErlangOptionKey*> FindErlangOption(std::string_view key);

}  // namespace ergon::dist
