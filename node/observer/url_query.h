// The query of a URL: "sort=queued&search=a%20b".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ergon::node {

using UrlQuery = std::map<std::string, std::string>;

// What is behind the first "?" of a target. None: it is malformed, or names a parameter twice.
[[nodiscard]] std::optional<UrlQuery> ParseUrlQuery(std::string_view target);

}  // namespace ergon::node
