#include <ergon/node/options/option_text.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/process_options.h>

namespace ergon::node {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array kTimes = {Unit{"ns", 1}, Unit{"us", 1'000}, Unit{"ms", 1'000'000},
                               Unit{"s", 1'000'000'000}, Unit{"min", 60'000'000'000}};
constexpr std::array kSizes = {Unit{"KiB", 1 << 10}, Unit{"MiB", 1 << 20}, Unit{"GiB", 1 << 30}};
constexpr std::string_view kInfiniteText = "infinite";

// False: not a number of this type, and nothing else.
template <class T>
bool ParseNumber(std::string_view text, T& out) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  out = value;
  return true;
}

// A number that is followed by one of the units.
template <std::size_t kCount>
bool ParseUnits(std::string_view text, const std::array<Unit, kCount>& units, std::int64_t& out) {
  const std::size_t digits = std::min(text.find_first_not_of("-0123456789"), text.size());
  std::int64_t number = 0;
  if (!ParseNumber(text.substr(0, digits), number)) return false;
  for (const Unit& unit : units) {
    if (unit.name == text.substr(digits)) return !__builtin_mul_overflow(number, unit.factor, &out);
  }
  return false;
}

// Returns whether it is digits and one of the units: then ParseUnits fails because that is too much.
template <std::size_t kCount>
bool HasUnit(std::string_view text, const std::array<Unit, kCount>& units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits != 0 && std::ranges::find(units, text.substr(digits), &Unit::name) != units.end();
}
bool IsWhole(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The largest unit that leaves no rest.
template <std::size_t kCount>
std::string FormatUnits(std::int64_t value, const std::array<Unit, kCount>& units) {
  const Unit* best = nullptr;
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  if (best == nullptr) return fmt::format("{}", value);
  return fmt::format("{}{}", value / best->factor, best->name);
}

// Over all values of an enumeration that begins at 0.
template <class T>
bool ParseName(std::string_view text, T last, T& out) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (ToString(static_cast<T>(i)) != text) continue;
    out = static_cast<T>(i);
    return true;
  }
  return false;
}

}  // namespace

const char* ParseOption(std::string_view text, int& out) {
  if (ParseNumber(text, out)) return nullptr;
  const bool is_whole = IsWhole(text.starts_with('-') ? text.substr(1) : text);
  return is_whole ? "a whole number from -2147483648 to 2147483647" : "a whole number";
}

const char* ParseOption(std::string_view text, std::uint32_t& out) {
  if (ParseNumber(text, out)) return nullptr;
  return IsWhole(text) ? "a whole number from 0 to 4294967295" : "a whole number, not negative";
}

const char* ParseOption(std::string_view text, std::size_t& out) {
  if (ParseNumber(text, out)) return nullptr;
  std::int64_t bytes = 0;
  if (!ParseUnits(text, kSizes, bytes) || bytes < 0) {
    return IsWhole(text) || HasUnit(text, kSizes)
               ? "a size that is not so large"
               : "a size in bytes or with its unit (KiB, MiB or GiB), as 262144 or 256KiB";
  }
  out = static_cast<std::size_t>(bytes);
  return nullptr;
}

const char* ParseOption(std::string_view text, double& out) {
  return ParseNumber(text, out) ? nullptr : "a number, as 0.75";
}

const char* ParseOption(std::string_view text, bool& out) {
  if (text != "true" && text != "false") return "true or false";
  out = text == "true";
  return nullptr;
}

const char* ParseOption(std::string_view text, std::chrono::nanoseconds& out) {
  std::int64_t nanoseconds = 0;
  if (text == kInfiniteText) {
    nanoseconds = gen::kInfinite.count();
  } else if (text != "0" && !ParseUnits(text, kTimes, nanoseconds)) {
    return HasUnit(text, kTimes)
               ? "a time that is not so long: 9223372036s are the most"
               : "a whole number with its unit (ns, us, ms, s or min), as 20us, 5ms or 3s";
  }
  out = std::chrono::nanoseconds(nanoseconds);
  return nullptr;
}

const char* ParseOption(std::string_view text, gen::DispatcherPolicy& out) {
  return ParseName(text, gen::DispatcherPolicy::kWorkSharing, out)
             ? nullptr
             : "work-stealing or work-sharing";
}

const char* ParseOption(std::string_view text, gen::LogLevel& out) {
  const auto level = gen::LogLevelOf(text);
  if (!level) return gen::kLogLevelNames;
  out = *level;
  return nullptr;
}

const char* ParseOption(std::string_view text, gen::LogFormat& out) {
  return ParseName(text, gen::LogFormat::kJson, out) ? nullptr : "text or json";
}

std::string FormatOption(int value) { return fmt::format("{}", value); }
std::string FormatOption(std::uint32_t value) { return fmt::format("{}", value); }
std::string FormatOption(std::size_t value) {
  return value > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())
             ? fmt::format("{}", value)
             : FormatUnits(static_cast<std::int64_t>(value), kSizes);
}
std::string FormatOption(double value) { return fmt::format("{}", value); }
std::string FormatOption(bool value) { return value ? "true" : "false"; }
std::string FormatOption(std::chrono::nanoseconds value) { return core::ExactTime(value); }
std::string FormatOption(gen::DispatcherPolicy value) { return std::string(ToString(value)); }
std::string FormatOption(gen::LogLevel value) { return std::string(ToString(value)); }
std::string FormatOption(gen::LogFormat value) { return std::string(ToString(value)); }

}  // namespace ergon::node
