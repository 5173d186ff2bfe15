// What the observer's page shows of how processes, events, groups and nodes belong together, as JSON.
#pragma once

#include <string>

#include <ergon/gen/node.h>
#include <ergon/node/observer/views/process_tree.h>
#include <ergon/node/observer/views/waits.h>

namespace ergon::node {

// Return views, see views.h.
[[nodiscard]] std::string TreeJson(const TreeRows& tree);
[[nodiscard]] std::string WaitsJson(const WaitRows& waits);
// Returns the first 1,000 events and groups by name, of each group the first 20 members.
[[nodiscard]] std::string EventsJson(gen::Node& node);
// Returns the first 1,000 connections by the name of the other node.
[[nodiscard]] std::string ClusterJson(gen::Node& node);

}  // namespace ergon::node
