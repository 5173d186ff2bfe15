#include "traceparent.h"

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace thumbnails {

using namespace ergon;

namespace {

// Where the parts of "00-TRACE-PARENT-FLAGS" are.
constexpr std::size_t kTrace = 3;
constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kParent = kTrace + kTraceDigits + 1;
constexpr std::size_t kParentDigits = 16;
constexpr std::size_t kFlags = kParent + kParentDigits + 1;
constexpr std::size_t kLength = kFlags + 2;

// Capital letters are wrong.
bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

std::uint64_t NumberOf(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

}  // namespace

gen::TraceId TraceParent::Trace() const {
  const std::string_view digits = trace_id;
  const gen::TraceId right = NumberOf(digits.substr(kTraceDigits / 2));
  return right != 0 ? right : NumberOf(digits.substr(0, kTraceDigits / 2));
}

std::string TraceParent::HeaderOf(gen::TraceId span) const {
  return "00-" + trace_id + '-' + gen::TraceText(span) + '-' + flags;
}

std::optional<TraceParent> ParseTraceParent(std::string_view header) {
  if (header.size() < kLength) return std::nullopt;
  const std::string_view version = header.substr(0, 2);
  const std::string_view trace = header.substr(kTrace, kTraceDigits);
  const std::string_view parent = header.substr(kParent, kParentDigits);
  const std::string_view flags = header.substr(kFlags, 2);
  for (const std::string_view part : {version, trace, parent, flags}) {
    if (!IsHex(part)) return std::nullopt;
  }
  for (const std::size_t dash : {kTrace - 1, kParent - 1, kFlags - 1}) {
    if (header[dash] != '-') return std::nullopt;
  }
  if (version == "ff" || IsZero(trace) || IsZero(parent)) return std::nullopt;
  // Only a later version may have more, behind a dash.
  if (header.size() > kLength && (version == "00" || header[kLength] != '-')) return std::nullopt;
  // Of the flags only the last one, "sampled", is known, and no other may be passed on.
  const bool is_sampled = (NumberOf(flags) & 1) != 0;
  return TraceParent{.trace_id = std::string(trace), .flags = is_sampled ? "01" : "00"};
}

TraceParent NewTraceParent() {
  return {.trace_id = gen::TraceText(gen::NewTraceId()) + gen::TraceText(gen::NewTraceId()),
          .flags = "00"};
}

}  // namespace thumbnails
