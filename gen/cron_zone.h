// The local time that a cron job uses.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ergon::gen {

// A value. May be used from any thread.
class CronZone {
 public:
  // Returns how much local time is ahead of UTC at a given time.
  using Rules = std::function<std::chrono::seconds(std::chrono::sys_seconds)>;

  // UTC.
  CronZone() = default;
  static CronZone Utc() { return {}; }
  // The machine's zone (TZ, /etc/localtime), with its daylight saving time.
  static CronZone Local();
  // A zone that is ahead of UTC by `offset` all year round, less than a day: CronZone::Ahead(-5h).
  static CronZone Ahead(std::chrono::minutes offset);
  // Any other zone, such as one from a library. Its offset need not be of whole minutes. The offset may change at full
  // quarters of an hour of UTC; a change at another time counts from the next quarter on. If the rules throw, the job
  // has failed, and the node asks them again a minute later; EnableCronJob returns kIncorrect then. The rules must not
  // call the node's functions for cron jobs: the node holds a lock while it asks them.
  static CronZone Of(std::string name, Rules rules);

  // Returns the zone's name: "UTC", "local", as in "UTC+05:30", or the name given.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::chrono::seconds OffsetAt(std::chrono::sys_seconds time) const {
    return rules_ ? rules_(time) : std::chrono::seconds(0);
  }
  // Returns an empty text, or what is wrong with the zone.
  [[nodiscard]] std::string Validate() const;

 private:
  CronZone(std::string name, Rules rules) : name_(std::move(name)), rules_(std::move(rules)) {}

  std::string name_ = "UTC";
  Rules rules_;  // null: UTC
};

}  // namespace ergon::gen
