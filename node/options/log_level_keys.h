// What the node's options say of log levels, as text: keys as in "log_levels.words::Counter".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/log_level.h>
#include <ergon/gen/result.h>

namespace ergon::node {

// By the names of behaviours; none: the node's.
using BehaviorLogLevels = std::map<std::string, std::optional<gen::LogLevel>>;

[[nodiscard]] bool IsLogLevelKey(std::string_view key);
// Sets the level of one behaviour, as SetOption does.
[[nodiscard]] gen::Result<void> SetLogLevelOption(BehaviorLogLevels& levels, std::string_view key,
                                                  std::string_view text);
// Removes the level of one behaviour.
void ForgetLogLevelOption(BehaviorLogLevels& levels, std::string_view key);
// Empty: it is not given.
[[nodiscard]] std::string LogLevelOptionText(const BehaviorLogLevels& levels, std::string_view key);

}  // namespace ergon::node
