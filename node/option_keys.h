// Node options as text: one table of keys for files and command lines.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <ergon/gen/node_options.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// A key is the name of a field of gen::NodeOptions, as in "turn_time". Keys of the fields of a struct in it are
// written with a dot, as in "stealing.relaxed.pause". Fields that no text can describe have no key. SetOption and
// OptionText also know "pools.NAME.FIELD", a field of act::PoolChange in NodeOptions::pools, and "log_levels.BEHAVIOR",
// a level of NodeOptions::log_levels.
struct OptionKey {
  std::string_view name;
  std::string_view value;  // what a value looks like: "NUMBER", "TIME", ...
  std::string_view help;
};

// Returns all keys, in the order of the fields.
[[nodiscard]] std::span<const OptionKey> OptionKeys();

// Sets one field:
//   whole numbers   12
//   fractions       0.75
//   times           250ns 20us 5ms 3s 2min, or 0; shutdown_timeout: "infinite" too
//   sizes           262144, 256KiB, 1MiB, 1GiB
//   choices         by their printed names: work-stealing, info, true
// Returns kIncorrect, and changes nothing, if there is no such key (the text names the nearest one), or if the value is
// malformed or out of range (the text begins with the key).
[[nodiscard]] gen::Result<void> SetOption(gen::NodeOptions& options, std::string_view key,
                                          std::string_view text);

// Returns the value of a field as SetOption would take it; empty if there is no such key.
[[nodiscard]] std::string OptionText(const gen::NodeOptions& options, std::string_view key);

}  // namespace ergon::node
