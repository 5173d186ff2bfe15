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

// How many bytes the first character of `text` has in UTF-8; 0: it is none.
std::size_t SizeOfCharacter(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  // No surrogates, nothing beyond Unicode, and nothing that takes fewer bytes.
  const int least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const int most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return size;
}

// UTF-8 is JSON's own. A byte that is none becomes the character for that.
void AppendQuoted(std::string& json, std::string_view text) {
  json += '"';
  while (!text.empty()) {
    const std::size_t size = SizeOfCharacter(text);
    const char first = text.front();
    if (size == 0) {
      json += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      json += '\\';
      json += first;
    } else if (size == 1 && first < ' ') {
      json += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    } else {
      json += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
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
