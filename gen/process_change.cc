#include <ergon/gen/process_change.h>

#include <limits>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

namespace ergon::gen {
namespace {

constexpr const char* kLogLevel = "log_level";
constexpr const char* kMailboxSize = "mailbox_size";
constexpr const char* kOfNode = "node";

using WireValue = ProcessChange::WireFields::mapped_type;

std::string TextOf(const WireValue& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? fmt::format("{}", *number) : std::string(std::get<Atom>(value).Text());
}

void TakeLevel(const WireValue& value, ProcessChange& change) {
  const std::string text = TextOf(value);
  if (text == kOfNode) {
    change.log_level_of_node = true;
    return;
  }
  if (std::holds_alternative<Atom>(value)) change.log_level = LogLevelOf(text);
  if (change.log_level) return;
  throw std::invalid_argument(fmt::format(
      "{}: {}, must be trace, debug, info, warning, error, panic, off or node", kLogLevel, text));
}

void TakeSize(const WireValue& value, ProcessChange& change) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr || *number < std::numeric_limits<int>::min() ||
      *number > std::numeric_limits<int>::max()) {
    throw std::invalid_argument(
        fmt::format("{}: {}, must be a number of messages", kMailboxSize, TextOf(value)));
  }
  change.mailbox_size = static_cast<int>(*number);
}

}  // namespace

ProcessChange::WireFields ProcessChange::ToWire() const {
  WireFields fields;
  if (log_level) fields.emplace(Atom(kLogLevel), Atom(ToString(*log_level)));
  if (log_level_of_node) fields.insert_or_assign(Atom(kLogLevel), Atom(kOfNode));
  if (mailbox_size) fields.emplace(Atom(kMailboxSize), std::int64_t{*mailbox_size});
  return fields;
}

ProcessChange ProcessChange::FromWire(const WireFields& fields) {
  ProcessChange change;
  for (const auto& [name, value] : fields) {
    if (name.Text() == kLogLevel) {
      TakeLevel(value, change);
    } else if (name.Text() == kMailboxSize) {
      TakeSize(value, change);
    } else {
      throw std::invalid_argument(fmt::format("{}: unknown, the fields are {} and {}", name.Text(),
                                              kLogLevel, kMailboxSize));
    }
  }
  return change;
}

}  // namespace ergon::gen
