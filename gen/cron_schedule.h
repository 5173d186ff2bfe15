// The times at which a cron job runs: the five fields of a line of a crontab.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include <ergon/gen/cron_zone.h>
#include <ergon/gen/result.h>

namespace ergon::gen {

// "minute hour day month weekday", of local time, divided by blanks:
//
//   minute   0-59
//   hour     0-23
//   day      1-31
//   month    1-12 or jan-dec
//   weekday  0-7 or sun-sat; 0 and 7 are Sunday
//
// A field is a list, "1,15,40", of values, ranges "9-17" and steps "*/10", "9-17/2", "5/20" (from 5
// to the end); "*" is every value. Letters may be of either case. If both day and weekday are
// restricted (do not begin with "*"), one of them has to match. In place of the fields stands
// @hourly, @daily or @midnight, @weekly, @monthly, @yearly or @annually.
//
// When clocks are set forward, nothing runs in the local time that is left out, and it is not made
// up. When they are set back, jobs whose hour field begins with "*" run in both passes of the local
// time that comes twice, others in the first only.
//
// A value. May be used from any thread.
class CronSchedule {
 public:
  // Makes a schedule from a text. Returns kIncorrect with a text that names the field and the value, also for a day
  // that never comes, as in "0 0 30 2 *".
  static Result<CronSchedule> Parse(std::string_view text);

  // Returns the first time after `after`: a whole minute of UTC. Where local time is ahead of UTC by odd seconds, as
  // before there were zones, that is some seconds into the local minute. Returns nothing if there is no such time
  // within forty years (a 29 February on a given weekday is never further away), or none in the calendar, which has the
  // years -32767..32767. A time before the calendar counts as its beginning.
  [[nodiscard]] std::optional<std::chrono::sys_seconds> Next(std::chrono::sys_seconds after,
                                                             const CronZone& zone) const;

  // Returns how many times there are from `first` on, before `end`: as many as Next finds, unless the zone's offset
  // changes and changes back within a day. Asks the zone three times for a day, and more only about days on which its
  // offset changes.
  [[nodiscard]] std::uint64_t Count(std::chrono::sys_seconds first, std::chrono::sys_seconds end,
                                    const CronZone& zone) const;

 private:
  // The first time from `time`, a whole minute, on, and before `end`; both in the calendar.
  [[nodiscard]] std::optional<std::chrono::sys_seconds> Find(std::chrono::sys_seconds time,
                                                             std::chrono::sys_seconds end,
                                                             const CronZone& zone) const;
  [[nodiscard]] bool IsOn(std::chrono::local_days date) const;
  [[nodiscard]] bool DayExists() const;

  std::uint64_t minutes_ = 0;  // a bit each, from bit 0
  std::uint32_t hours_ = 0;
  std::uint32_t days_ = 0;    // from bit 1
  std::uint32_t months_ = 0;  // from bit 1
  std::uint32_t weekdays_ = 0;
  bool any_hour_ = false;  // the field begins with "*"
  bool any_day_ = false;
  bool any_weekday_ = false;
};

}  // namespace ergon::gen
