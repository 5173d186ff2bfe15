// The query of a URL: "sort=queued&search=a%20b".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace ergon::node {

using UrlQuery = std::map<std::string, std::string>;

// Returns the query behind the first "?" of a target; std::nullopt if it is malformed, or names a parameter twice.
[[nodiscard]] std::optional<UrlQuery> ParseUrlQuery(std::string_view target);

// Returns a parameter as a number; std::nullopt if it is missing, or not a number from 0 on.
[[nodiscard]] std::optional<std::uint64_t> NumberIn(const UrlQuery& query, const std::string& name);

}  // namespace ergon::node
