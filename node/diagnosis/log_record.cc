#include <ergon/node/diagnosis/log_record.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/texts/json_writer.h>

namespace ergon::node {
namespace {

std::string TimeText(std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::microseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

bool MovesCursor(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return (byte < 0x20 && byte != '\t') || byte == 0x7F;
}

// A text of a user's must not look like a line of its own, nor move the cursor of a terminal: what follows a line end
// is indented, and other control characters are written as "\\x1b". Those from 0x80 to 0x9F are two bytes of UTF-8.
std::string AsOneEntry(std::string line) {
  constexpr char kLead = '\xC2';
  if (std::ranges::none_of(line, [](char c) { return MovesCursor(c) || c == kLead; })) return line;
  std::string entry;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char character = line[i];
    const auto next = static_cast<unsigned char>(i + 1 < line.size() ? line[i + 1] : ' ');
    if (character == '\n') {
      entry += "\n    ";
    } else if (character == kLead && next >= 0x80 && next <= 0x9F) {
      entry += fmt::format("\\x{:02x}", next);
      ++i;
    } else if (MovesCursor(character)) {
      entry += fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
    } else {
      entry += character;
    }
  }
  return entry;
}

void PutProcess(JsonWriter& json, const LogRecord& record) {
  json.PutWhole("pid", record.pid.ToString());
  if (!record.name.empty()) json.PutWhole("name", record.name.ToString());
  json.PutWhole("behavior", record.behavior);
  if (!record.pool_name.empty()) {
    json.PutWhole("pool", record.pool_name.ToString());
  } else if (record.pool) {
    json.PutWhole("pool", record.pool.ToString());
  }
  if (record.trace != 0) json.PutWhole("trace", gen::TraceText(record.trace));
  if (!record.message.empty()) json.PutWhole("message", record.message);
}

}  // namespace

std::string AsText(const LogRecord& record) {
  if (!record.pid) return AsOneEntry(fmt::format("{}: {}", record.node, record.text));
  std::string line = fmt::format("{} ", record.pid);
  if (!record.name.empty()) line += fmt::format("'{}' ", record.name);
  line += record.behavior;
  if (record.pool) line += OfPool(record.pool, record.pool_name);
  if (record.trace != 0) line += fmt::format(" [trace {}]", gen::TraceText(record.trace));
  return AsOneEntry(fmt::format("{}: {}", line, record.text));
}

std::string AsJson(const LogRecord& record, std::chrono::system_clock::time_point time) {
  JsonWriter json;
  json.PutWhole("time", TimeText(time));
  json.PutWhole("level", gen::ToString(record.level));
  json.PutWhole("node", record.node.ToString());
  if (record.pid) PutProcess(json, record);
  json.PutWhole("text", record.text);
  return json.Take();
}

}  // namespace ergon::node
