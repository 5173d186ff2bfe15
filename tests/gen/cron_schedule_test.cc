#include <cstdlib>
#include <ctime>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ergon/gen/cron_schedule.h>

#include <kit/eventually.h>
#include <kit/one_thread.h>

namespace ergon::gen {
namespace {

using namespace std::chrono;           // NOLINT(google-build-using-namespace)
using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

sys_seconds At(int year, unsigned month, unsigned day, int hour = 0, int minute = 0,
               int second = 0) {
  return sys_days(std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day)) +
         hours(hour) + minutes(minute) + seconds(second);
}

// Local time as in Central Europe: an hour ahead of UTC, two from the last Sunday of March to that of
// October.
CronZone Berlin() {
  // The year that was asked for last, as it is asked for each minute.
  return CronZone::Of(
      "Berlin",
      [first = sys_seconds::max(), after = sys_seconds::max(), begin = sys_seconds(),
       end = sys_seconds()](sys_seconds time) mutable -> seconds {
        if (time < first || time >= after) {
          const year year = year_month_day(floor<days>(time)).year();
          first = sys_days(year / January / 1);
          after = sys_days((year + years(1)) / January / 1);
          begin = sys_days(year / March / Sunday[last]) + 1h;
          end = sys_days(year / October / Sunday[last]) + 1h;
        }
        return time >= begin && time < end ? 2h : 1h;
      });
}

std::string Text(sys_seconds time, const CronZone& zone = {}) {
  const sys_seconds local = time + zone.OffsetAt(time);
  const year_month_day date(floor<days>(local));
  const hh_mm_ss clock(local - floor<days>(local));
  return fmt::format("{}-{:02}-{:02} {:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count());
}

// The first `count` runs after `since`, in local time.
std::vector<std::string> Runs(std::string_view spec, sys_seconds since, int count,
                              const CronZone& zone = {}) {
  const CronSchedule schedule = CronSchedule::Parse(spec).value();
  std::vector<std::string> runs;
  auto next = schedule.Next(since, zone);
  for (int i = 0; i < count && next; ++i, next = schedule.Next(*next, zone)) {
    runs.push_back(Text(*next, zone));
  }
  return runs;
}

using Texts = std::vector<std::string>;

std::string ErrorOf(std::string_view spec) {
  auto schedule = CronSchedule::Parse(spec);
  REQUIRE(!schedule);
  CHECK(schedule.error() == ErrIncorrect);
  return std::string(schedule.error().detail());
}

TEST_CASE("cron schedule: fields") {
  const sys_seconds since = At(2023, 1, 1, 0, 0);  // a Sunday
  CHECK(Runs("* * * * *", since, 2) == Texts{"2023-01-01 00:01", "2023-01-01 00:02"});
  CHECK(Runs("* * * * *", since - 1s, 1) == Texts{"2023-01-01 00:00"});
  CHECK(Runs("* * * * *", since + 59s, 1) == Texts{"2023-01-01 00:01"});
  CHECK(Runs("5,59,7 1 * * *", since, 4) ==
        Texts{"2023-01-01 01:05", "2023-01-01 01:07", "2023-01-01 01:59", "2023-01-02 01:05"});
  CHECK(Runs("*/20 22-23 * * *", since, 4) ==
        Texts{"2023-01-01 22:00", "2023-01-01 22:20", "2023-01-01 22:40", "2023-01-01 23:00"});
  CHECK(Runs("50/4 3 * * *", since, 4) ==
        Texts{"2023-01-01 03:50", "2023-01-01 03:54", "2023-01-01 03:58", "2023-01-02 03:50"});
  CHECK(Runs("1-9/4 0 * * *", since, 3) ==
        Texts{"2023-01-01 00:01", "2023-01-01 00:05", "2023-01-01 00:09"});
  CHECK(Runs("0 0 1 JAN,jul-Aug *", since, 3) ==
        Texts{"2023-07-01 00:00", "2023-08-01 00:00", "2024-01-01 00:00"});
  CHECK(Runs("0 9 * * mon-fri", since, 6).back() == "2023-01-09 09:00");
  CHECK(Runs("0 9 * * 0", since, 1) == Texts{"2023-01-01 09:00"});
  CHECK(Runs("0 9 * * 7", since, 1) == Texts{"2023-01-01 09:00"});
  CHECK(Runs("0 9 * * fri-7", since, 3) ==
        Texts{"2023-01-01 09:00", "2023-01-06 09:00", "2023-01-07 09:00"});
  CHECK(Runs("\t 0  0 *\t* * ", since, 1) == Texts{"2023-01-02 00:00"});
}

TEST_CASE("cron schedule: shortcuts") {
  const sys_seconds since = At(2023, 3, 15, 12, 30);
  CHECK(Runs("@hourly", since, 1) == Texts{"2023-03-15 13:00"});
  CHECK(Runs("@daily", since, 1) == Texts{"2023-03-16 00:00"});
  CHECK(Runs("@Midnight", since, 1) == Texts{"2023-03-16 00:00"});
  CHECK(Runs("@weekly", since, 1) == Texts{"2023-03-19 00:00"});
  CHECK(Runs("@monthly", since, 1) == Texts{"2023-04-01 00:00"});
  CHECK(Runs("@yearly", since, 1) == Texts{"2024-01-01 00:00"});
  CHECK(Runs("@annually", since, 1) == Texts{"2024-01-01 00:00"});
}

TEST_CASE("cron schedule: month ends, leap days, and either day") {
  CHECK(Runs("0 0 31 * *", At(2023, 1, 31), 3) ==
        Texts{"2023-03-31 00:00", "2023-05-31 00:00", "2023-07-31 00:00"});
  CHECK(Runs("0 0 29 2 *", At(2023, 1, 1), 2) == Texts{"2024-02-29 00:00", "2028-02-29 00:00"});
  // The longest time without one: 2100 is no leap year.
  CHECK(Runs("59 23 29 2 *", At(2096, 2, 29, 23, 59), 1) == Texts{"2104-02-29 23:59"});
  CHECK(Runs("0 0 30 4,2 *", At(2023, 1, 1), 1) == Texts{"2023-04-30 00:00"});
  // Both restricted: one has to match.
  CHECK(Runs("0 0 13 * fri", At(2023, 1, 1), 4) ==
        Texts{"2023-01-06 00:00", "2023-01-13 00:00", "2023-01-20 00:00", "2023-01-27 00:00"});
  CHECK(Runs("0 0 30 2 mon", At(2023, 2, 1), 1) == Texts{"2023-02-06 00:00"});
  // A field that begins with "*" restricts the other one.
  CHECK(Runs("0 0 */2 * fri", At(2023, 1, 1), 3) ==
        Texts{"2023-01-13 00:00", "2023-01-27 00:00", "2023-02-03 00:00"});
  CHECK(Runs("0 0 */30 2 mon", At(2027, 2, 2), 1) == Texts{"2038-02-01 00:00"});
  CHECK(Runs("30 23 31 12 *", At(2023, 12, 31, 23, 30), 1) == Texts{"2024-12-31 23:30"});
}

TEST_CASE("cron schedule: what is wrong is told with the field and the value") {
  CHECK(ErrorOf("60 * * * *") == "minute: \"60\", must be in 0..59");
  CHECK(ErrorOf("* 24 * * *") == "hour: \"24\", must be in 0..23");
  CHECK(ErrorOf("* * 0 * *") == "day: \"0\", must be in 1..31");
  CHECK(ErrorOf("* * 32 * *") == "day: \"32\", must be in 1..31");
  CHECK(ErrorOf("* * * jax *") == "month: \"jax\", must be in 1..12");
  CHECK(ErrorOf("* * * * 8") == "weekday: \"8\", must be in 0..7");
  CHECK(ErrorOf("* * * mon *") == "month: \"mon\", must be in 1..12");
  CHECK(ErrorOf("5- * * * *") == "minute: \"5-\", must be in 0..59");
  CHECK(ErrorOf("1,,2 * * * *") == "minute: \"\", must be in 0..59");
  CHECK(ErrorOf("-1 * * * *") == "minute: \"-1\", must be in 0..59");
  CHECK(ErrorOf("+1 * * * *") == "minute: \"+1\", must be in 0..59");
  CHECK(ErrorOf("4294967297 * * * *") == "minute: \"4294967297\", must be in 0..59");
  CHECK(ErrorOf("9-5 * * * *") == "minute: \"9-5\", must be a range from less to more");
  CHECK(ErrorOf("*/0 * * * *") == "minute: \"*/0\", must be a step of 1..59");
  CHECK(ErrorOf("* */24 * * *") == "hour: \"*/24\", must be a step of 1..23");
  CHECK(ErrorOf("*/x * * * *") == "minute: \"*/x\", must be a step of 1..59");
  CHECK(ErrorOf("0 0 30,31 feb *") == "day: \"30,31\", must be a day of month feb");
  CHECK(ErrorOf("") == "spec: \"\", must be five fields: minute hour day month weekday");
  CHECK(ErrorOf("* * * *") ==
        "spec: \"* * * *\", must be five fields: minute hour day month weekday");
  CHECK(ErrorOf("* * * * * *").starts_with("spec: \"* * * * * *\", must be five fields"));
  CHECK(ErrorOf("@never").starts_with("spec: \"@never\", must be @hourly"));
  CHECK(ErrorOf("@daily *").starts_with("spec: \"@daily *\", must be @hourly"));
}

TEST_CASE("cron schedule: zones") {
  const sys_seconds since = At(2023, 6, 1, 12, 0);
  CHECK(CronSchedule::Parse("30 0 * * *")->Next(since, CronZone::Ahead(5h + 30min)) ==
        At(2023, 6, 1, 19, 0));
  CHECK(CronSchedule::Parse("30 0 * * *")->Next(since, CronZone::Ahead(-5h)) ==
        At(2023, 6, 2, 5, 30));
  // A midnight that is at no quarter of an hour of UTC.
  CHECK(CronSchedule::Parse("0 0 3 * *")->Next(since, CronZone::Ahead(31min)) ==
        At(2023, 6, 2, 23, 29));
  CHECK(CronZone::Ahead(5h + 30min).name() == "UTC+05:30");
  CHECK(CronZone::Ahead(-90min).name() == "UTC-01:30");
  CHECK(CronZone().name() == "UTC");
  CHECK(CronZone::Local().name() == "local");
  CHECK(CronZone::Local().Validate().empty());
  CHECK(CronZone::Ahead(24h).Validate() ==
        "zone: UTC+24:00 is 86400 s ahead of UTC, must be less than a day");
  CHECK(CronZone::Ahead(-25h).Validate() ==
        "zone: UTC-25:00 is 90000 s behind UTC, must be less than a day");
  CHECK(CronZone::Of("empty", nullptr).Validate() == "zone: empty has no rules");
}

TEST_CASE("cron schedule: clocks set forward leave out, set back repeat every hour's jobs only") {
  const CronZone zone = Berlin();
  // 26 March 2023: 02:00 is 03:00.
  CHECK(Runs("30 2 * * *", At(2023, 3, 25, 0), 2, zone) ==
        Texts{"2023-03-25 02:30", "2023-03-27 02:30"});
  CHECK(Runs("*/30 * * * *", At(2023, 3, 26, 0, 29), 3, zone) ==
        Texts{"2023-03-26 01:30", "2023-03-26 03:00", "2023-03-26 03:30"});
  CHECK(Runs("0 3 * * *", At(2023, 3, 25, 12), 1, zone) == Texts{"2023-03-26 03:00"});
  // 29 October 2023: 03:00 is 02:00.
  CHECK(Runs("30 2 * * *", At(2023, 10, 28, 12), 2, zone) ==
        Texts{"2023-10-29 02:30", "2023-10-30 02:30"});
  CHECK(CronSchedule::Parse("30 2 * * *")->Next(At(2023, 10, 28, 12), zone) ==
        At(2023, 10, 29, 0, 30));
  CHECK(Runs("0,30 * * * *", At(2023, 10, 28, 23, 59), 5, zone) ==
        Texts{"2023-10-29 02:00", "2023-10-29 02:30", "2023-10-29 02:00", "2023-10-29 02:30",
              "2023-10-29 03:00"});
  CHECK(Runs("0 2-3 * * *", At(2023, 10, 28, 12), 3, zone) ==
        Texts{"2023-10-29 02:00", "2023-10-29 03:00", "2023-10-30 02:00"});
}

// The machine's zone, while it lives.
class MachineZone {
 public:
  explicit MachineZone(const char* zone) {
    if (const char* former = std::getenv("TZ")) former_ = former;
    setenv("TZ", zone, 1);
    tzset();
  }
  MachineZone(const MachineZone&) = delete;
  MachineZone& operator=(const MachineZone&) = delete;
  ~MachineZone() {
    if (former_) {
      setenv("TZ", former_->c_str(), 1);
    } else {
      unsetenv("TZ");
    }
    tzset();
  }

 private:
  std::optional<std::string> former_;
};

TEST_CASE("cron schedule: offsets that are no whole minutes, as before there were zones") {
  const CronZone berlin = CronZone::Of("Berlin 1880", [](sys_seconds) { return 3208s; });
  CHECK(CronSchedule::Parse("0 0 1 * *")->Next(At(1880, 1, 15), berlin) == At(1880, 1, 31, 23, 7));
  CHECK(Runs("0 0 1 * *", At(1880, 1, 15), 2, berlin) ==
        Texts{"1880-02-01 00:00", "1880-03-01 00:00"});
  const CronZone st_johns = CronZone::Of("St. John's 1880", [](sys_seconds) { return -12'652s; });
  CHECK(CronSchedule::Parse("0 0 1 * *")->Next(At(1880, 1, 15), st_johns) == At(1880, 2, 1, 3, 31));
  CHECK(Runs("* * * * *", At(1880, 1, 1), 3, st_johns) ==
        Texts{"1879-12-31 20:30", "1879-12-31 20:31", "1879-12-31 20:32"});
  const MachineZone machine("LMT-0:53:28");
  CHECK(CronZone::Local().OffsetAt(At(1880, 1, 15)) == 3208s);
  CHECK(Runs("0 0 1 * *", At(1880, 1, 15), 2, CronZone::Local()) ==
        Texts{"1880-02-01 00:00", "1880-03-01 00:00"});
}

TEST_CASE("cron schedule: clocks set back by seconds repeat a minute, or none") {
  const auto set_back = [](seconds by) {
    return CronZone::Of(
        "set back", [by](sys_seconds time) { return time < At(2023, 6, 1) ? 1140s + by : 1140s; });
  };
  // From 00:18:32 on to 00:19:00.
  CHECK(CronSchedule::Parse("19 0 1 6 *")->Next(At(2023, 5, 31), set_back(32s)) == At(2023, 6, 1));
  // From 00:19:32 back to 00:19:00.
  CHECK(Runs("19 0 * * *", At(2023, 5, 31, 12), 2, set_back(92s)) ==
        Texts{"2023-06-01 00:19", "2023-06-02 00:19"});
  CHECK(Runs("19 * * * *", At(2023, 5, 31, 23, 58), 2, set_back(92s)) ==
        Texts{"2023-06-01 00:19", "2023-06-01 00:19"});
}

TEST_CASE("cron schedule: changes at quarters of an hour before 1970") {
  const CronZone zone = CronZone::Of("changes", [](sys_seconds time) -> seconds {
    return time < At(1960, 5, 1, 0, 15) ? 0h : 1h;
  });
  CHECK(Runs("20 0 1 5 *", At(1960, 5, 1, 0, 1), 1, zone) == Texts{"1961-05-01 00:20"});
}

TEST_CASE("cron schedule: as far as the calendar goes") {
  const CronSchedule schedule = CronSchedule::Parse("0 0 1 1 *").value();
  CHECK(!schedule.Next(sys_seconds::max(), {}));
  CHECK(!schedule.Next(sys_seconds::max() - days(366), CronZone::Ahead(-23h)));
  CHECK(!schedule.Next(At(32'767, 6, 1), {}));
  CHECK(schedule.Next(At(32'766, 6, 1), {}) == At(32'767, 1, 1));
  CHECK(schedule.Next(sys_seconds::min(), {}) == At(-32'766, 1, 1));
  CHECK(schedule.Next(sys_seconds::min() + 1s, CronZone::Ahead(23h)) == At(-32'767, 12, 31, 1));
}

TEST_CASE("cron schedule: counted as they are found one by one, without looking at each" *
          kit::OneThread()) {
  const CronZone oslo_1895 = CronZone::Of("Oslo", [](sys_seconds) { return 2'580s; });
  const CronZone back_at_midnight = CronZone::Of(
      "Azores", [](sys_seconds time) -> seconds { return time < At(2024, 10, 27, 1) ? 0h : -1h; });
  // The days when clocks change; and months, which would take sanitizers a minute.
  std::vector<std::pair<sys_seconds, sys_seconds>> spans;
  for (const sys_seconds first :
       {At(2024, 1, 1), At(2024, 3, 31, 0, 59, 59), At(2024, 5, 31), At(2024, 10, 26, 23)}) {
    for (const auto lasts : {seconds(0), seconds(90min), seconds(days(3))}) {
      spans.emplace_back(first, first + lasts);
    }
    if (kit::kSanitized) continue;
    for (const sys_seconds end : {At(2024, 10, 27, 1, 30), At(2025, 1, 1)}) {
      spans.emplace_back(first, end);
    }
  }
  for (const CronZone& zone : {CronZone(), Berlin(), CronZone::Ahead(-9h - 30min), oslo_1895,
                               back_at_midnight, CronZone::Of("odd", [](sys_seconds time) {
                                 return time < At(2024, 6, 1, 12) ? -12'652s : -12'600s;
                               })}) {
    for (const char* const spec :
         {"*/7 * * * *", "30 2 * * *", "30 * * * *", "0 0 * * *", "15 1,2,23 * 3,10 0",
          "0 12 1-7,29 * *", "59 23 * * 1-5", "0 0 29 2 *"}) {
      CAPTURE(spec);
      CAPTURE(zone.name());
      const CronSchedule schedule = CronSchedule::Parse(spec).value();
      for (const auto& [first, end] : spans) {
        std::uint64_t found = 0;
        for (auto run = schedule.Next(first - 1s, zone); run && *run < end;
             run = schedule.Next(*run, zone)) {
          ++found;
        }
        CHECK(schedule.Count(first, end, zone) == found);
      }
    }
  }
  const CronSchedule minutely = CronSchedule::Parse("* * * * *").value();
  std::uint64_t asked = 0;
  const CronZone counts = CronZone::Of("counts", [&asked](sys_seconds) {
    ++asked;
    return 0s;
  });
  const sys_seconds until = At(kit::kSanitized ? 1980 : 2262, 1, 1);
  const auto all = static_cast<std::uint64_t>((until - At(1970, 1, 1)) / days(1));
  CHECK(minutely.Count(At(1970, 1, 1), until, counts) == all * 24 * 60);
  CHECK(asked < 4 * all);
  CHECK(minutely.Count(At(2024, 1, 2), At(2024, 1, 1), {}) == 0);
  CHECK(minutely.Count(sys_seconds::max(), sys_seconds::max(), {}) == 0);
}

TEST_CASE("cron zone: offsets beyond all bounds are refused with their values") {
  const auto most = std::numeric_limits<minutes::rep>::max();
  const std::string ahead = CronZone::Ahead(minutes(most)).Validate();
  CHECK(ahead.find("UTC+153722867280912930:07 ") != std::string::npos);
  CHECK(ahead.find("must be less than a day") != std::string::npos);
  CHECK(CronZone::Ahead(minutes::min()).Validate().find("UTC-153722867280912930:08 ") !=
        std::string::npos);
  CHECK(CronZone::Ahead(minutes(-1440))
            .Validate()
            .starts_with("zone: UTC-24:00 is 86400 s behind UTC"));
  CHECK(!CronZone::Of("far", [](sys_seconds) { return seconds::min(); }).Validate().empty());
}

// Minute by minute, without any short cut.
std::vector<std::string> Slowly(const std::set<int> (&fields)[5], bool either, sys_seconds since,
                                sys_seconds end, const CronZone& zone) {
  std::vector<std::string> runs;
  for (sys_seconds time = since + 1min; time < end; time += 1min) {
    const sys_seconds local = time + zone.OffsetAt(time);
    const auto day = floor<days>(local);
    const auto minute = duration_cast<minutes>(local - day).count();
    if (!fields[0].contains(static_cast<int>(minute % 60))) continue;
    const year_month_day date(day);
    const bool is_day = fields[2].contains(static_cast<int>(static_cast<unsigned>(date.day())));
    const bool is_weekday = fields[4].contains(static_cast<int>(weekday(day).c_encoding()));
    if (fields[1].contains(static_cast<int>(minute / 60)) &&
        fields[3].contains(static_cast<int>(static_cast<unsigned>(date.month()))) &&
        (either ? is_day || is_weekday : is_day && is_weekday)) {
      runs.push_back(Text(time, zone));
    }
  }
  return runs;
}

TEST_CASE("cron schedule: the same as looking at every minute of half a year" * kit::OneThread()) {
  constexpr int kLeast[5] = {0, 0, 1, 1, 0};
  constexpr int kMost[5] = {59, 23, 31, 12, 6};
  unsigned random = 7;
  const auto next = [&random](int most) {
    random = random * 1'103'515'245u + 12'345u;
    return static_cast<int>(random >> 16) % (most + 1);
  };
  // With a leap day, and both changes of the clocks.
  const sys_seconds since = At(2023, 10, 15);
  const sys_seconds end = At(2024, 4, 15);
  for (int round = 0; round < (kit::kSanitized ? 2 : 8); ++round) {
    std::set<int> fields[5];
    std::string spec;
    bool either = true;
    for (int i = 0; i < 5; ++i) {
      const bool all = i != 0 && next(2) == 0;
      if (all && (i == 2 || i == 4)) either = false;
      std::string field;
      for (int value = kLeast[i]; value <= kMost[i]; ++value) {
        if (!all && next(i < 2 ? 9 : 3) != 0 && (value != kMost[i] || !fields[i].empty())) continue;
        fields[i].insert(value);
        field += (field.empty() ? "" : ",") + std::to_string(value);
      }
      // Every hour is named: where time is repeated all are run then, as below.
      spec += (i == 0 ? "" : " ") + (all ? "*" : i == 1 ? "*," + field : field);
      if (i == 1) {
        for (int hour = 0; hour < 24; ++hour) fields[1].insert(hour);
      }
    }
    CAPTURE(spec);
    auto schedule = CronSchedule::Parse(spec);
    if (!schedule) continue;  // a day that never comes
    for (const CronZone& zone : {CronZone(), Berlin(), CronZone::Ahead(-9h - 30min),
                                 CronZone::Of("odd", [](sys_seconds) { return -12'652s; })}) {
      const std::vector<std::string> expected = Slowly(fields, either, since, end, zone);
      std::vector<std::string> found;
      for (auto run = schedule->Next(since, zone); run && *run < end;
           run = schedule->Next(*run, zone)) {
        found.push_back(Text(*run, zone));
      }
      CHECK(found == expected);
    }
  }
}

}  // namespace
}  // namespace ergon::gen
