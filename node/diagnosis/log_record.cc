#include <ergon/node/diagnosis/log_record.h>

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
