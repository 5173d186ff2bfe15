// What of a node may be changed while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include <ergon/gen/atom.h>
#include <ergon/gen/log_level.h>

namespace ergon::gen {

// Each field that is given replaces the field of NodeOptions with the same name; the others stay. `log_levels` adds to
// the levels that were given before: a behaviour that is not named keeps its level. Either all fields change or none;
// the log shows each new value with the former one, as in "log_levels.words::Counter: debug, was not given": a line of
// level info, whatever the node's level is, unless that is off.
//
// In code see Node::Change. It can also be sent, as a request of high or max priority, to any process of the node. The
// node answers the request between two handlers of that process, whose behaviour does not see it:
//
//   node.Call("words", gen::NodeChange{.log_levels = {{"words::Counter", gen::LogLevel::kDebug}}},
//             {.priority = gen::MessagePriority::kHigh});
//
// Processes of other nodes may send it, too, if this node has registered the type with such a priority. Then each node
// that knows the cookie may change these options, and this node keeps the name of each behaviour that it gets:
//
//   options.types.Register<gen::NodeChange>({.priority = gen::MessagePriority::kHigh});
//
//   1> gen_server:call({words, 'cpp@127.0.0.1'},
//                      {node_change, #{log_level => warning, log_levels => #{<<"words::Counter">> => debug}}}).
//   true
struct NodeChange {
  using Reply = bool;  // true; what is wrong is the request's error, and nothing has changed then

  // The lowest level of the node's log lines, and of those of processes that have no level of their own.
  std::optional<LogLevel> log_level = std::nullopt;
  // How many messages of normal priority may wait for a process that is spawned from now on, 1..4,000,000; 0: any
  // number.
  std::optional<int> mailbox_size = std::nullopt;
  // The lowest levels of the log lines of processes, by the names of their behaviours as log lines show them. A level
  // is in effect for processes that run, whoever has set their levels before, and for those that are spawned from now
  // on. Without a level they use the node's (in Erlang the atom `node`). If no process has a behaviour with that name,
  // the log says so; that is not an error.
  std::map<std::string, std::optional<LogLevel>> log_levels = {};

  friend bool operator==(const NodeChange&, const NodeChange&) = default;

  // For other nodes: a tuple of the tag and a map, whose keys are the fields that are given. Another key is an error
  // that names it.
  static constexpr const char* kTag = "node_change";
  using WireLevels = std::map<std::string, Atom>;
  using WireFields = std::map<Atom, std::variant<std::int64_t, Atom, WireLevels>>;
  template <class Archive>
  void serialize(Archive& archive) {
    WireFields fields = ToWire();
    archive(fields);
    if constexpr (Archive::is_loading::value) *this = FromWire(fields);
  }

 private:
  [[nodiscard]] WireFields ToWire() const;
  // Throws std::invalid_argument, with a text that names the key and the value.
  [[nodiscard]] static NodeChange FromWire(const WireFields& fields);
};

}  // namespace ergon::gen
