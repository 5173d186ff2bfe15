#include "record.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/core.h>

namespace logpipe {

namespace {

constexpr std::array<std::string_view, kSeverities> kNames = {
    "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"};
constexpr int kMostPriority = 191;  // 24 facilities, 8 severities of each

// What is behind "<PRI>", and PRI.
struct Head {
  int priority = 0;
  std::string_view rest;
};

std::optional<Head> Split(std::string_view line) {
  if (!line.starts_with('<')) return std::nullopt;
  const char* const end = line.data() + line.size();
  Head head;
  const auto [next, error] = std::from_chars(line.data() + 1, end, head.priority);
  if (error != std::errc() || next == end || *next != '>') return std::nullopt;
  if (head.priority < 0 || head.priority > kMostPriority) return std::nullopt;
  head.rest = line.substr(static_cast<std::size_t>(next + 1 - line.data()));
  return head;
}

// Bytes that are no ASCII stay as they are: UTF-8 is JSON's own.
void AppendQuoted(std::string& json, std::string_view text) {
  json += '"';
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') {
      json += '\\';
      json += byte;
    } else if (static_cast<unsigned char>(byte) < ' ') {
      json += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      json += byte;
    }
  }
  json += '"';
}

}  // namespace

std::string_view NameOfSeverity(int severity) {
  return kNames.at(static_cast<std::size_t>(severity));
}

std::optional<int> SeverityOf(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<int>(found - kNames.begin());
}

std::string Record::ToJson() const {
  std::string json = fmt::format(R"({{"severity":"{}","tag":)", NameOfSeverity(severity));
  AppendQuoted(json, tag);
  json += R"(,"text":)";
  AppendQuoted(json, text);
  json += "}";
  return json;
}

std::string_view TagOf(std::string_view line) {
  const auto head = Split(line);
  if (!head) return {};
  return head->rest.substr(0, std::min(head->rest.find(": "), head->rest.size()));
}

std::optional<Record> Parse(std::string_view line) {
  const auto head = Split(line);
  if (!head) return std::nullopt;
  const std::size_t colon = head->rest.find(": ");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return Record{.severity = head->priority % kSeverities,
                .tag = std::string(head->rest.substr(0, colon)),
                .text = std::string(head->rest.substr(colon + 2))};
}

}  // namespace logpipe
