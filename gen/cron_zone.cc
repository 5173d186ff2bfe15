#include <ergon/gen/cron_zone.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>

namespace ergon::gen {
namespace {

// The rules of a zone that was given none: no offset that Validate allows.
struct NoRules {
  std::chrono::seconds operator()(std::chrono::sys_seconds) const { return std::chrono::hours(24); }
};

}  // namespace

CronZone CronZone::Local() {
  return {"local", [](std::chrono::sys_seconds time) {
            const std::time_t seconds = time.time_since_epoch().count();
            std::tm local{};
            if (localtime_r(&seconds, &local) == nullptr) return std::chrono::seconds(0);
            return std::chrono::seconds(local.tm_gmtoff);
          }};
}

CronZone CronZone::Ahead(std::chrono::minutes offset) {
  // Any number, so that Validate can name it.
  constexpr auto kMost = std::chrono::floor<std::chrono::minutes>(std::chrono::seconds::max());
  const std::chrono::seconds ahead = std::clamp(offset, -kMost, kMost);
  const auto minutes = static_cast<std::uint64_t>(offset.count());
  const std::uint64_t size = offset.count() < 0 ? 0 - minutes : minutes;
  return {fmt::format("UTC{}{:02}:{:02}", offset.count() < 0 ? '-' : '+', size / 60, size % 60),
          [ahead](std::chrono::sys_seconds) { return ahead; }};
}

CronZone CronZone::Of(std::string name, Rules rules) {
  if (!rules) rules = NoRules();
  return {std::move(name), std::move(rules)};
}

std::string CronZone::Validate() const {
  if (rules_ && rules_.target<NoRules>() != nullptr) {
    return fmt::format("zone: {} has no rules", name_);
  }
  std::chrono::seconds offset{0};
  try {
    offset = OffsetAt(std::chrono::sys_seconds());
  } catch (...) {
    return fmt::format("zone: the rules of {} threw: {}", name_, core::ThrownText());
  }
  constexpr std::chrono::hours kDay{24};
  if (-kDay < offset && offset < kDay) return {};
  const bool is_behind = offset.count() < 0;
  const auto seconds = static_cast<std::uint64_t>(offset.count());
  return fmt::format("zone: {} is {} s {} UTC, must be less than a day", name_,
                     is_behind ? 0 - seconds : seconds, is_behind ? "behind" : "ahead of");
}

}  // namespace ergon::gen
