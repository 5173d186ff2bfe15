#include <ergon/node/metrics/metric_checks.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <fmt/core.h>

#include <ergon/node/erlang/terms/utf8.h>
#include <ergon/node/options/option_checks.h>

namespace ergon::node {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kLongestHelp = 1'000;
constexpr std::size_t kMostLabels = 16;
constexpr std::size_t kMostBounds = 64;
constexpr int kLeastExponent = -40;
constexpr int kGreatestExponent = 60;

bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }
bool IsWordByte(char byte) {
  return IsDigit(byte) || byte == '_' || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z');
}
// Letters, digits and "_".
bool IsWord(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, IsWordByte);
}
bool IsName(std::string_view text) { return IsWord(text) && !IsDigit(text.front()); }

gen::Error NoName(std::string_view field, std::string_view text) {
  return Incorrect(
      fmt::format("{}: \"{}\" must be 1..{} letters, digits and \"_\", and not begin with a digit",
                  field, text, kLongestName));
}

gen::Result<void> CheckName(std::string_view name) {
  if (!IsName(name)) return NoName("name", name);
  for (const std::string_view prefix : {"ergon_", "process_"}) {
    if (name.starts_with(prefix)) {
      return Incorrect(
          fmt::format("name: \"{}\" begins with \"{}\", as the node's own metrics", name, prefix));
    }
  }
  for (const std::string_view suffix :
       {"_total", "_info", "_created", "_bucket", "_count", "_sum"}) {
    if (name.ends_with(suffix)) {
      return Incorrect(fmt::format(
          "name: \"{}\" ends with \"{}\", which is added where a metric is written", name, suffix));
    }
  }
  return {};
}

gen::Result<void> CheckUnit(std::string_view name, std::string_view unit) {
  if (unit.empty()) return {};
  if (!IsWord(unit)) {
    return Incorrect(fmt::format("unit: \"{}\" must be letters, digits and \"_\"", unit));
  }
  if (!name.ends_with(fmt::format("_{}", unit))) {
    return Incorrect(fmt::format("unit: \"{}\", but the name \"{}\" does not end with \"_{}\"",
                                 unit, name, unit));
  }
  return {};
}

// Line ends are written as "\n".
bool IsControl(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return (code < 0x20 && byte != '\n') || code == 0x7f;
}

gen::Result<void> CheckText(std::string_view field, std::string_view text, std::size_t most) {
  if (text.size() > most) {
    return Incorrect(fmt::format("{}: has {} bytes, more than {}", field, text.size(), most));
  }
  if (!dist::CountCharacters(text)) return Incorrect(fmt::format("{}: is not UTF-8", field));
  const auto control = std::ranges::find_if(text, IsControl);
  if (control == text.end()) return {};
  return Incorrect(fmt::format("{}: has the control character \\x{:02x}", field,
                               static_cast<unsigned char>(*control)));
}

gen::Result<void> CheckLabels(const std::vector<gen::MetricLabel>& labels) {
  if (labels.size() > kMostLabels) {
    return Incorrect(fmt::format("labels: {} are more than {}", labels.size(), kMostLabels));
  }
  std::set<std::string_view> names;
  for (const gen::MetricLabel& label : labels) {
    if (!IsName(label.name)) return NoName("labels", label.name);
    if (label.name.starts_with("__")) {
      return Incorrect(fmt::format(
          "labels: \"{}\" begins with \"__\", as those of Prometheus itself", label.name));
    }
    if (!names.insert(label.name).second) {
      return Incorrect(fmt::format("labels: \"{}\" is there twice", label.name));
    }
    auto checked = CheckText(fmt::format("labels: the value of \"{}\"", label.name), label.value,
                             kLongestName);
    if (!checked) return checked;
  }
  return {};
}

gen::Result<void> CheckBound(std::string_view field, double bound) {
  int exponent = 0;
  const bool is_power = std::isfinite(bound) && std::frexp(bound, &exponent) == 0.5;
  if (!is_power || exponent - 1 < kLeastExponent || exponent - 1 > kGreatestExponent) {
    return Incorrect(fmt::format("{}: {} must be a power of two, 2^{}..2^{}", field, bound,
                                 kLeastExponent, kGreatestExponent));
  }
  return {};
}

}  // namespace

gen::Result<void> CheckMetric(std::string_view name, const gen::MetricOptions& options) {
  auto checked = CheckName(name);
  if (checked) checked = CheckUnit(name, options.unit);
  if (checked) checked = CheckText("help", options.help, kLongestHelp);
  if (checked) checked = CheckLabels(options.labels);
  return checked;
}

gen::Result<void> CheckBounds(const gen::HistogramOptions& options) {
  auto checked = CheckBound("least_bound", options.least_bound);
  if (checked) checked = CheckBound("greatest_bound", options.greatest_bound);
  if (!checked) return checked;
  if (options.least_bound > options.greatest_bound) {
    return Incorrect(fmt::format("least_bound: {} is more than greatest_bound, {}",
                                 options.least_bound, options.greatest_bound));
  }
  const auto bounds = static_cast<std::size_t>(std::ilogb(options.greatest_bound) -
                                               std::ilogb(options.least_bound)) +
                      1;
  if (bounds > kMostBounds) {
    return Incorrect(fmt::format("greatest_bound: {} makes {} bounds, more than {}",
                                 options.greatest_bound, bounds, kMostBounds));
  }
  const auto has_le = [](const gen::MetricLabel& label) { return label.name == "le"; };
  if (std::ranges::any_of(options.labels, has_le)) {
    return Incorrect("labels: \"le\" is the bound of a histogram's bucket");
  }
  return {};
}

}  // namespace ergon::node
