// Whether a node is ready for work.
#pragma once

#include <string>

#include <ergon/gen/node.h>

namespace ergon::node {

// Returns an empty text, or why it is not ready, for people. Any thread.
[[nodiscard]] std::string WhyNotReady(gen::Node& node);

}  // namespace ergon::node
