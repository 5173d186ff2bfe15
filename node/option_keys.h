// Node options as text: one table of keys for files and command lines.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <ergon/gen/node_options.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// A key is the name of the field of gen::NodeOptions, as in "turn_time"; those of a struct in it are
// set apart by a dot, as in "stealing.relaxed.pause". Fields that no text can describe have none.
struct OptionKey {
  std::string_view name;
  std::string_view value;  // what a value looks like: "NUMBER", "TIME", ...
  std::string_view help;
};

// All of them, in the order of the fields.
[[nodiscard]] std::span<const OptionKey> OptionKeys();

// Sets one field:
//   whole numbers   12
//   times           250ns 20us 5ms 3s 2min, or 0; shutdown_timeout: "infinite" too
//   sizes           262144, 256KiB, 1MiB, 1GiB
//   choices         by their printed names: work-stealing, info, true
// kIncorrect: there is no such key, and the text names the nearest one; or the value is none, or out of
// range, and the text begins with the key. Nothing is changed then.
[[nodiscard]] gen::Result<void> SetOption(gen::NodeOptions& options, std::string_view key,
                                          std::string_view text);

// A field as SetOption would take it; empty: there is no such key.
[[nodiscard]] std::string OptionText(const gen::NodeOptions& options, std::string_view key);

}  // namespace ergon::node
