#include <ergon/node/options/log_level_keys.h>

#include <fmt/core.h>

#include <ergon/node/options/option_checks.h>
#include <ergon/node/options/option_text.h>

namespace ergon::node {
namespace {

constexpr std::string_view kLevels = "log_levels.";
constexpr std::string_view kOfNode = "node";

}  // namespace

bool IsLogLevelKey(std::string_view key) { return key.starts_with(kLevels); }

gen::Result<void> SetLogLevelOption(BehaviorLogLevels& levels, std::string_view key,
                                    std::string_view text) {
  const std::string_view name = key.substr(kLevels.size());
  if (name.empty()) return Incorrect(fmt::format("{}: the name of the behaviour is empty", key));
  std::optional<gen::LogLevel> level;
  if (text != kOfNode) {
    if (const char* const wanted = ParseOption(text, level.emplace())) {
      return Incorrect(fmt::format("{}: \"{}\", must be {}, or {}", key, text, wanted, kOfNode));
    }
  }
  levels[std::string(name)] = level;
  return {};
}

void ForgetLogLevelOption(BehaviorLogLevels& levels, std::string_view key) {
  levels.erase(std::string(key.substr(kLevels.size())));
}

std::string LogLevelOptionText(const BehaviorLogLevels& levels, std::string_view key) {
  const auto found = levels.find(std::string(key.substr(kLevels.size())));
  if (found == levels.end()) return {};
  return found->second ? FormatOption(*found->second) : std::string(kOfNode);
}

}  // namespace ergon::node
