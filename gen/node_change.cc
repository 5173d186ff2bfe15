#include <ergon/gen/node_change.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

namespace ergon::gen {
namespace {

constexpr const char* kNodeLevel = "log_level";
constexpr const char* kNodeMailboxSize = "mailbox_size";
constexpr const char* kBehaviorLevels = "log_levels";
constexpr std::string_view kLevelOfNode = "node";

using NodeWired = NodeChange::WireFields::mapped_type;

std::string TextOfWired(const NodeWired& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return fmt::format("{}", *number);
  }
  const auto* const atom = std::get_if<Atom>(&value);
  return atom != nullptr ? std::string(atom->Text()) : "a map";
}

LogLevel LevelOfWired(std::string_view key, std::string_view text, const char* also) {
  const auto level = LogLevelOf(text);
  if (level) return *level;
  throw std::invalid_argument(fmt::format("{}: {}, must be {}{}", key, text, kLogLevelNames, also));
}

void TakeBehaviorLevels(const NodeWired& value, NodeChange& change) {
  const auto* const levels = std::get_if<NodeChange::WireLevels>(&value);
  if (levels == nullptr) {
    throw std::invalid_argument(fmt::format("{}: {}, must be a map of behaviours and levels",
                                            kBehaviorLevels, TextOfWired(value)));
  }
  for (const auto& [behavior, level] : *levels) {
    std::optional<LogLevel>& taken = change.log_levels[behavior];
    if (level.Text() == kLevelOfNode) continue;
    taken =
        LevelOfWired(fmt::format("{}.{}", kBehaviorLevels, behavior), level.Text(), ", or node");
  }
}

int NodeMailboxSizeOf(const NodeWired& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr || *number < std::numeric_limits<int>::min() ||
      *number > std::numeric_limits<int>::max()) {
    throw std::invalid_argument(
        fmt::format("{}: {}, must be a number of messages", kNodeMailboxSize, TextOfWired(value)));
  }
  return static_cast<int>(*number);
}

}  // namespace

NodeChange::WireFields NodeChange::ToWire() const {
  WireFields fields;
  if (log_level) fields.emplace(Atom(kNodeLevel), Atom(ToString(*log_level)));
  if (mailbox_size) fields.emplace(Atom(kNodeMailboxSize), std::int64_t{*mailbox_size});
  if (log_levels.empty()) return fields;
  WireLevels levels;
  for (const auto& [behavior, level] : log_levels) {
    levels.emplace(behavior, Atom(level ? ToString(*level) : kLevelOfNode));
  }
  fields.emplace(Atom(kBehaviorLevels), std::move(levels));
  return fields;
}

NodeChange NodeChange::FromWire(const WireFields& fields) {
  NodeChange change;
  for (const auto& [name, value] : fields) {
    if (name.Text() == kNodeLevel) {
      change.log_level = LevelOfWired(kNodeLevel, TextOfWired(value), "");
    } else if (name.Text() == kNodeMailboxSize) {
      change.mailbox_size = NodeMailboxSizeOf(value);
    } else if (name.Text() == kBehaviorLevels) {
      TakeBehaviorLevels(value, change);
    } else {
      throw std::invalid_argument(fmt::format("{}: unknown, the fields are {}, {} and {}",
                                              name.Text(), kNodeLevel, kNodeMailboxSize,
                                              kBehaviorLevels));
    }
  }
  return change;
}

}  // namespace ergon::gen
