#include <ergon/gen/cron_zone.h>

#include <cstdlib>
#include <ctime>

#include <fmt/core.h>

namespace ergon::gen {

CronZone CronZone::Local() {
  return {"local", [](std::chrono::sys_seconds time) {
            const std::time_t seconds = time.time_since_epoch().count();
            std::tm local{};
            if (localtime_r(&seconds, &local) == nullptr) return std::chrono::seconds(0);
            return std::chrono::seconds(local.tm_gmtoff);
          }};
}

CronZone CronZone::Ahead(std::chrono::minutes offset) {
  const auto minutes = offset.count();
  const auto size = std::abs(minutes);
  return {fmt::format("UTC{}{:02}:{:02}", minutes < 0 ? '-' : '+', size / 60, size % 60),
          [offset](std::chrono::sys_seconds) { return std::chrono::seconds(offset); }};
}

CronZone CronZone::Of(std::string name, Rules rules) {
  if (!rules) rules = [](std::chrono::sys_seconds) { return std::chrono::hours(24); };
  return {std::move(name), std::move(rules)};
}

std::string CronZone::Validate() const {
  const std::chrono::seconds offset = OffsetAt(std::chrono::sys_seconds());
  if (std::chrono::abs(offset) < std::chrono::hours(24)) return {};
  return fmt::format("zone: {} is {} s ahead of UTC, must be less than a day, or has no rules",
                     name_, offset.count());
}

}  // namespace ergon::gen
