// The query of a URL: "sort=queued&search=a%20b".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ergon::node {

using UrlQuery = std::map<std::string, std::string>;

// What is behind the first "?" of a target. None: it is malformed, or names a parameter twice.
[[nodiscard]] std::optional<UrlQuery> ParseUrlQuery(std::string_view target);

// The number that a parameter is. None: it is missing, or no number from 0 on.
[[nodiscard]] std::optional<std::uint64_t> NumberIn(const UrlQuery& query, const std::string& name);

}  // namespace ergon::node
