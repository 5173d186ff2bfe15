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

// What is given becomes the value of the field of NodeOptions with that name; the rest stays. `log_levels` adds to those
// that were given before: a behaviour that is not named keeps its level. All or nothing, and the
// log has each value that is another one with the one before, as in "log_levels.words::Counter: debug, was not given":
// a line of level info, whatever the node's level is, unless that is off.
//
// From code see Node::Change. By a message it is a request of high or max priority to any process of the node, which
// the node answers between two handlers of that process; its behaviour does not see it:
//
//   node.Call("words", gen::NodeChange{.log_levels = {{"words::Counter", gen::LogLevel::kDebug}}},
//             {.priority = gen::MessagePriority::kHigh});
//
// Other nodes, too, if this one has registered the type with such a priority. Then each node that knows the cookie may
// change these, and each behaviour that it names is kept:
//
//   options.types.Register<gen::NodeChange>({.priority = gen::MessagePriority::kHigh});
//
//   1> gen_server:call({words, 'cpp@127.0.0.1'},
//                      {node_change, #{log_level => warning, log_levels => #{<<"words::Counter">> => debug}}}).
//   true
struct NodeChange {
  using Reply = bool;  // true; what is wrong is the request's error

  // Least level of the node's log lines, and of those of processes that have none of their own.
  std::optional<LogLevel> log_level = std::nullopt;
  // For processes that are spawned from now on: how many messages of normal priority may wait, 1..4,000,000; 0: any
  // number.
  std::optional<int> mailbox_size = std::nullopt;
  // By the names of behaviours, as log lines have them: least levels of the log lines of processes with these, those
  // that run, whoever has set their levels before, and those that are spawned from now on; none: the node's, in Erlang
  // `node`. The log tells of a name that no process has, which is no error.
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
