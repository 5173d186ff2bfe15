// What Erlang's tools ask another node, answered by this one: see ErlangOptions::observable.
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

}  // namespace ergon::dist
