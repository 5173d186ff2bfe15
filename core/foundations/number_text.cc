#include <charconv>
#include <cmath>
#include <iterator>

#include <ergon/core/foundations/number_text.h>

namespace ergon::core {
namespace {

struct TimeUnit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// The last one only where a time has no rest.
constexpr TimeUnit kTimeUnits[] = {
    {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}, {"min", 60'000'000'000}};
constexpr std::size_t kSeconds = 3;

}  // namespace

std::string ExactTime(std::chrono::nanoseconds time) {
  if (time == std::chrono::nanoseconds::max()) return "infinite";
  if (time.count() == 0) return "0";
  const TimeUnit* best = kTimeUnits;
  for (const TimeUnit& unit : kTimeUnits) {
    if (time.count() % unit.nanoseconds == 0) best = &unit;
  }
  return std::to_string(time.count() / best->nanoseconds).append(best->name);
}

std::string RoundTime(std::chrono::nanoseconds time) {
  constexpr double kAThousand = 999.5;  // rounded to three digits
  const auto nanoseconds = static_cast<double>(time.count());
  if (nanoseconds == 0) return "0 ms";
  std::size_t unit = 0;
  double value = nanoseconds;
  while (unit < kSeconds && std::abs(value) >= kAThousand) {
    value = nanoseconds / static_cast<double>(kTimeUnits[++unit].nanoseconds);
  }
  char digits[32];
  const bool is_long = std::abs(value) >= kAThousand;
  const auto end =
      is_long ? std::to_chars(digits, std::end(digits), std::llround(value))
              : std::to_chars(digits, std::end(digits), value, std::chars_format::general, 3);
  return std::string(digits, end.ptr).append(" ").append(kTimeUnits[unit].name);
}

std::string Counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count).append(" ").append(count == 1 ? one : many);
}

}  // namespace ergon::core
