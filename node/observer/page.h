// The page of an observer: one of HTML, its script and its style. They contain nothing of the node.
#pragma once

#include <string_view>

namespace ergon::node {

[[nodiscard]] std::string_view PageText();
[[nodiscard]] std::string_view PageScript();
[[nodiscard]] std::string_view PageStyle();

}  // namespace ergon::node
