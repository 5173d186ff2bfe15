// Terms for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ergon/node/erlang/terms/reader.h>

namespace ergon::dist {

// Returns the next term as Erlang prints it, as in {ok,<<"abc">>,[1,2],#{a => 1}}, on one line. The text is cut after
// about `max_bytes`, and ends with "..." then. PIDs, ports and references have the name of their node instead of its
// number. The text is UTF-8. Any thread; does not recurse.
[[nodiscard]] std::string NextTermText(TermReader next, std::size_t max_bytes);

}  // namespace ergon::dist
