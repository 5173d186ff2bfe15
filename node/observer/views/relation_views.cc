#include <ergon/node/observer/views/relation_views.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <ergon/node/erlang.h>
#include <ergon/node/events/events.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/runtime/runtime.h>
#include <ergon/node/texts/json_writer.h>

namespace ergon::node {
namespace {

constexpr std::size_t kMostInList = 1'000;  // events, groups, connections
constexpr std::size_t kMostMembers = 20;    // of a group

void PutLabel(JsonWriter& json, const ProcessLabel& label) {
  json.PutPid(label.pid);
  json.Put("name", label.name);
  json.Put("behavior", std::string_view(label.behavior));
}

void PutEvents(JsonWriter& json, const Events& events) {
  const auto [infos, in_all] = events.Infos(kMostInList);
  json.Put("events_in_all", in_all);
  json.PutList("events", infos, [&](const Events::Info& event) {
    json.Put("name", event.name);
    json.PutPid(event.producer);
    json.Put("subscribers", event.subscribers);
    json.Put("subscribers_elsewhere", event.subscribers_elsewhere);
    json.Put("published", event.published);
    json.Put("buffered", event.buffered);
    json.Put("buffer", event.buffer);
  });
}

void PutGroups(JsonWriter& json, const Groups& groups) {
  const auto [infos, in_all] = groups.Infos(kMostInList, kMostMembers);
  json.Put("groups_in_all", in_all);
  json.PutList("groups", infos, [&](const Groups::Info& group) {
    json.Put("name", group.name);
    json.Put("members_in_all", group.members_in_all);
    json.Put("members_here", group.members_here);
    json.PutPids("members", group.members, kMostMembers);
  });
}

}  // namespace

std::string TreeJson(const TreeRows& tree) {
  JsonWriter json;
  json.Put("in_all", tree.in_all);
  json.Put("at_top", tree.at_top);
  json.PutList("processes", tree.rows, [&](const TreeRow& row) {
    PutLabel(json, row.process);
    json.Put("state", ToString(row.state));
    json.Put("depth", row.depth);
    json.Put("children", row.children);
    json.Put("links_in_all", row.links.in_all);
    json.PutPids("links", row.links.first, TreeRow::kMostLinks);
  });
  return json.Take();
}

std::string WaitsJson(const WaitRows& waits) {
  JsonWriter json;
  json.Put("in_all", waits.in_all);
  json.Put("circles", waits.circles);
  json.PutList("waits", waits.rows, [&](const WaitRow& row) {
    json.Begin("from");
    PutLabel(json, row.from);
    json.End();
    json.Begin("to");
    PutLabel(json, row.to);
    json.End();
    json.Put("message", std::string_view(row.message));
    json.Put("seconds", static_cast<double>(row.waiting_ns) * 1e-9);
    json.Put("certain", row.certain);
    json.Put("circle", row.circle);
  });
  return json.Take();
}

std::string EventsJson(gen::Node& node) {
  JsonWriter json;
  const Runtime& runtime = RuntimeOf(node, "node::ObserverFactory");
  PutEvents(json, runtime.events());
  PutGroups(json, runtime.groups());
  return json.Take();
}

std::string ClusterJson(gen::Node& node) {
  auto connections = dist::InspectConnections(node);
  const std::size_t count = std::min(kMostInList, connections.size());
  std::ranges::partial_sort(connections, connections.begin() + static_cast<std::ptrdiff_t>(count),
                            {}, [](const auto& connection) { return connection.node.Text(); });
  JsonWriter json;
  json.Put("in_all", connections.size());
  connections.resize(count);
  json.PutList("connections", connections, [&](const dist::ConnectionInfo& connection) {
    json.Put("node", connection.node);
    json.Put("up", connection.is_up);
    json.Put("ergon", connection.is_ergon);
    json.Put("queued_bytes", connection.queued_bytes);
    json.Put("most_queued_bytes", connection.most_queued_bytes);
    json.Put("waiting_senders", connection.waiting_senders);
    json.Put("not_believed", connection.not_believed);
  });
  return json.Take();
}

}  // namespace ergon::node
