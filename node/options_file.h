// Node options from a file.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/node_options.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// Reads a file in TOML, whose keys are those of OptionKeys (node/option_keys.h):
//
//   workers = 4
//   policy = "work-sharing"
//   turn_time = "20us"
//   handler_stack_bytes = "256KiB"
//   [stealing]
//   moderate = { attempts = 500, pause = "50us" }
//   [pools.thumbnails]
//   pool_size = 8
//   admission_limit = "50ms"
//
//   [log_levels]
//   "words::Counter" = "debug"
//   "words::Index" = "node"
//
//   [environment]
//   database = "db1:5432"
//   batch = 500
//
//   [network]
//   cookie_file = "/etc/words/cookie"
//   tick_time = "30s"
//   tls.certificate_file = "/etc/words/node.pem"
//
// The tables [pools.NAME] are NodeOptions::pools; their keys are the fields of act::PoolChange. The table [log_levels]
// is NodeOptions::log_levels: names of behaviours, in quotes, and their levels, "node" for the node's level. The table
// [environment] is NodeOptions::environment, for what the program's own processes read with Env: std::string,
// std::int64_t, double and bool; a value in a table in it has a name with a dot. The table [network] has the fields of
// dist::ErlangOptions, except those that no text can describe, and `cookie`, for which there is cookie_file. The node
// checks this table when it starts; it needs a NodeOptions::network of dist::Erlang. Fields that are not in the file
// stay as in `defaults`. Returns kIncorrect if the file cannot be read, is not TOML, or has a wrong key or value; the
// text names file, line, key and value, as in
//
//   node.toml:7: throughput: 0 is outside 1..4096
//
// Does not set NodeOptions::options_file: set it for a file that SIGHUP reads again. Without it SIGHUP ends the
// program.
[[nodiscard]] gen::Result<gen::NodeOptions> LoadOptions(const std::string& path,
                                                        const gen::NodeOptions& defaults = {});

// Reads the contents of such a file; `name` names the file in errors.
[[nodiscard]] gen::Result<gen::NodeOptions> ParseOptions(std::string_view contents,
                                                         std::string_view name,
                                                         const gen::NodeOptions& defaults = {});

}  // namespace ergon::node
