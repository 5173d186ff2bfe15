// Answers functions of Erlang that other nodes call: those of its tools (ErlangOptions::observable), and
// erlang:whereis/1.
#pragma once

#include <cstddef>
#include <string_view>

#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// Returns what answers a function of Erlang, or of one of its tools; null if nothing does. It lives as long as the
// program. These functions change nothing.
[[nodiscard]] const detail::RemoteFunction* FindObserverAnswer(std::string_view module,
                                                               std::string_view function,
                                                               std::size_t arity);

// Returns the same for functions that every node answers, observable or not: erlang:whereis/1.
[[nodiscard]] const detail::RemoteFunction* FindUsualAnswer(std::string_view module,
                                                            std::string_view function,
                                                            std::size_t arity);

}  // namespace ergon::dist
