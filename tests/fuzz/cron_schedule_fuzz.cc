// Lines of a crontab: a schedule whose runs come one after the other, at whole minutes, and within
// forty years; or a refusal that names the field.
#include <array>
#include <chrono>
#include <string_view>

#include <fuzz/fuzz.h>

#include <ergon/gen/cron_schedule.h>

using ergon::fuzz::Require;
using ergon::gen::CronSchedule;
using ergon::gen::CronZone;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = ergon::fuzz::TextOf(data, size);
  const auto schedule = CronSchedule::Parse(text);
  if (!schedule) {
    Require(schedule.error() == ergon::gen::ErrIncorrect, "a wrong line is kIncorrect");
    const std::string_view detail = schedule.error().detail();
    bool named = false;
    for (const std::string_view field :
         {"spec: ", "minute: ", "hour: ", "day: ", "month: ", "weekday: "}) {
      named = named || detail.starts_with(field);
    }
    Require(named, "the refusal names the field");
    Require(detail.find(", must be ") != std::string_view::npos, "and what it must be");
    return 0;
  }
  using std::chrono::sys_seconds;
  constexpr std::array<std::chrono::minutes, 3> kZones = {
      std::chrono::minutes(0), std::chrono::minutes(-570), std::chrono::minutes(825)};
  for (const std::chrono::minutes ahead : kZones) {
    const CronZone zone = CronZone::Ahead(ahead);
    sys_seconds last{std::chrono::seconds(1'700'000'123)};
    for (int i = 0; i < 3; ++i) {
      const auto next = schedule->Next(last, zone);
      Require(next.has_value(), "there is always another run");
      Require(*next > last, "later than the one before");
      Require(next->time_since_epoch().count() % 60 == 0, "at a whole minute");
      Require(schedule->Next(*next - std::chrono::seconds(1), zone) == next, "and none in between");
      last = *next;
    }
  }
  return 0;
}
