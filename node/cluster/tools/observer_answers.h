// What other nodes of Erlang ask, answered by this one: its tools (ErlangOptions::observable), and who has a name.
#pragma once

#include <cstddef>
#include <string_view>

#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// The function of Erlang, or of one of its tools, that is answered here; null: it is not. It lives as long as the
// program. All of them only look.
[[nodiscard]] const detail::RemoteFunction* FindObserverAnswer(std::string_view module,
                                                               std::string_view function,
                                                               std::size_t arity);

// The same of what every node answers, observable or not: erlang:whereis/1.
[[nodiscard]] const detail::RemoteFunction* FindUsualAnswer(std::string_view module,
                                                            std::string_view function,
                                                            std::size_t arity);

}  // namespace ergon::dist
