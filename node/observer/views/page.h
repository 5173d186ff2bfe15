// The page of an observer: its HTML, its scripts and its style. They contain no data of the node.
#pragma once

#include <string_view>

namespace ergon::node {

[[nodiscard]] std::string_view PageText();
[[nodiscard]] std::string_view
PageScript();  // what all views have in common; node, processes, pools
[[nodiscard]] std::string_view
PageRelations();  // the other views, and the beginning: after PageScript
[[nodiscard]] std::string_view PageStyle();

}  // namespace ergon::node
