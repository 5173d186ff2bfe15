// The local time that a cron job goes by.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ergon::gen {

// A value; any thread.
class CronZone {
 public:
  // How much local time is ahead of UTC, at a time.
  using Rules = std::function<std::chrono::seconds(std::chrono::sys_seconds)>;

  // UTC.
  CronZone() = default;
  static CronZone Utc() { return {}; }
  // The machine's (TZ, /etc/localtime), with its daylight saving time.
  static CronZone Local();
  // So much ahead of UTC all year round, less than a day: CronZone::Ahead(-5h).
  static CronZone Ahead(std::chrono::minutes offset);
  // Any other, as of a library. Its offset need not be of whole minutes, and may change at full quarters of an hour of
  // UTC, or else counts from the next one on. If they throw, the job has failed, and they are asked a minute later.
  static CronZone Of(std::string name, Rules rules);

  // As in "UTC", "local", "UTC+05:30" or the name given.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::chrono::seconds OffsetAt(std::chrono::sys_seconds time) const {
    return rules_ ? rules_(time) : std::chrono::seconds(0);
  }
  // Empty, or what is wrong with it.
  [[nodiscard]] std::string Validate() const;

 private:
  CronZone(std::string name, Rules rules) : name_(std::move(name)), rules_(std::move(rules)) {}

  std::string name_ = "UTC";
  Rules rules_;  // null: UTC
};

}  // namespace ergon::gen
