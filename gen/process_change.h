// What of a process may be changed by others while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <variant>

#include <ergon/gen/atom.h>
#include <ergon/gen/log_level.h>

namespace ergon::gen {

// A request of high or max priority, which each process answers by itself, before its next handler; its behaviour does
// not see it. Fields that are not given stay. Either all fields change or none; the log shows each new value and the
// former one. On the same node Node::SetProcessLogLevel and SetProcessMailboxSize do the same without a priority, with
// the same errors.
//
//   const gen::CallOptions high = {.priority = gen::MessagePriority::kHigh};
//   node.Call("words", gen::ProcessChange{.log_level = gen::LogLevel::kDebug}, high);
//
// Processes of other nodes may send it, too, if this node has registered the type with such a priority:
//
//   options.types.Register<gen::ProcessChange>({.priority = gen::MessagePriority::kHigh});
//
//   1> gen_server:call({words, 'cpp@127.0.0.1'}, {process_change, #{log_level => debug, mailbox_size => 100}}).
//   true
struct ProcessChange {
  using Reply = bool;  // true; what is wrong is the request's error

  // The lowest level of its log lines.
  std::optional<LogLevel> log_level = std::nullopt;
  // True: the process uses the node's level again; not together with log_level. In Erlang #{log_level => node}.
  bool log_level_of_node = false;
  // How many messages of normal priority may wait; 0: any number. Of each kind of mailbox but custom ones.
  std::optional<int> mailbox_size = std::nullopt;

  friend bool operator==(const ProcessChange&, const ProcessChange&) = default;

  // For other nodes: a tuple of the tag and a map, whose keys are the fields that are given. Another key is an error
  // that names it.
  static constexpr const char* kTag = "process_change";
  using WireFields = std::map<Atom, std::variant<std::int64_t, Atom>>;
  template <class Archive>
  void serialize(Archive& archive) {
    WireFields fields = ToWire();
    archive(fields);
    if constexpr (Archive::is_loading::value) *this = FromWire(fields);
  }

 private:
  [[nodiscard]] WireFields ToWire() const;
  // Throws std::invalid_argument, with a text that names the key and the value.
  [[nodiscard]] static ProcessChange FromWire(const WireFields& fields);
};

}  // namespace ergon::gen
