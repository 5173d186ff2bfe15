#include <ergon/gen/cron_schedule.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <ratio>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace ergon::gen {
namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays = {"sun", "mon", "tue", "wed",
                                                       "thu", "fri", "sat"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShortcuts = {
    {{"@hourly", "0 * * * *"},
     {"@daily", "0 0 * * *"},
     {"@midnight", "0 0 * * *"},
     {"@weekly", "0 0 * * 0"},
     {"@monthly", "0 0 1 * *"},
     {"@yearly", "0 0 1 1 *"},
     {"@annually", "0 0 1 1 *"}}};

struct Field {
  std::string_view name;
  unsigned least;
  unsigned most;
  std::span<const std::string_view> names = {};  // of the values from `least` on
};
constexpr Field kMinute{"minute", 0, 59};
constexpr Field kHour{"hour", 0, 23};
constexpr Field kDay{"day", 1, 31};
constexpr Field kMonth{"month", 1, 12, kMonths};
constexpr Field kWeekday{"weekday", 0, 7, kWeekdays};

Error Incorrect(const Field& field, std::string_view text, std::string_view must) {
  return Error(ErrorCode::kIncorrect,
               fmt::format("{}: \"{}\", must be {}", field.name, text, must));
}

bool EqualInAnyCase(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char l, char r) {
    return std::tolower(static_cast<unsigned char>(l)) ==
           std::tolower(static_cast<unsigned char>(r));
  });
}

std::optional<unsigned> ToNumber(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<unsigned> ParseValue(const Field& field, std::string_view text) {
  for (std::size_t i = 0; i < field.names.size(); ++i) {
    if (EqualInAnyCase(text, field.names[i])) return field.least + static_cast<unsigned>(i);
  }
  const auto number = ToNumber(text);
  if (!number || *number < field.least || *number > field.most) {
    return Incorrect(field, text, fmt::format("in {}..{}", field.least, field.most));
  }
  return *number;
}

// One element of a list: "*", "5", "1-5", each maybe with a step.
Result<std::uint64_t> ParseElement(const Field& field, std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view range = text.substr(0, slash);
  unsigned step = 1;
  if (slash != std::string_view::npos) {
    const auto number = ToNumber(text.substr(slash + 1));
    if (!number || *number == 0 || *number > field.most) {
      return Incorrect(field, text, fmt::format("a step of 1..{}", field.most));
    }
    step = *number;
  }
  unsigned first = field.least;
  unsigned last = &field == &kWeekday ? 6 : field.most;
  if (range != "*") {
    const std::size_t dash = range.find('-');
    // What is no range, as "-5", is told as a whole.
    if (dash == 0 || dash + 1 == range.size()) return ParseValue(field, range);
    auto from = ParseValue(field, range.substr(0, dash));
    if (!from) return std::move(from.error());
    first = *from;
    if (dash != std::string_view::npos) {
      auto to = ParseValue(field, range.substr(dash + 1));
      if (!to) return std::move(to.error());
      if (*to < first) return Incorrect(field, range, "a range from less to more");
      last = *to;
    } else if (slash == std::string_view::npos) {
      last = first;
    } else {
      last = std::max(first, last);
    }
  }
  std::uint64_t bits = 0;
  for (unsigned value = first; value <= last; value += step) bits |= std::uint64_t{1} << value;
  return bits;
}

Result<std::uint64_t> ParseField(const Field& field, std::string_view text) {
  std::uint64_t bits = 0;
  for (;;) {
    const std::size_t comma = text.find(',');
    auto element = ParseElement(field, text.substr(0, comma));
    if (!element) return std::move(element.error());
    bits |= *element;
    if (comma == std::string_view::npos) return bits;
    text.remove_prefix(comma + 1);
  }
}

// The next word; empty at the end.
std::string_view TakeWord(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

template <class Bits>
bool HasBit(Bits bits, unsigned bit) {
  return (bits >> bit & 1) != 0;
}

// Clocks are set back by less than that.
constexpr std::chrono::hours kLongestRepeat(3);

// This minute of local time has been there before: clocks were set back within the last hours.
bool IsSecondPass(sys_seconds time, seconds offset, const CronZone& zone) {
  const seconds before = zone.OffsetAt(time - kLongestRepeat);
  if (before <= offset) return false;
  // The whole minute that would have been in it.
  const auto minute = std::chrono::floor<minutes>(time.time_since_epoch() + offset);
  const sys_seconds first(std::chrono::ceil<minutes>(minute - before));
  return zone.OffsetAt(first) == before;
}

// What the calendar of std::chrono has, less what local time may be away from UTC.
constexpr sys_seconds kFirstTime =
    std::chrono::sys_days(std::chrono::year::min() / std::chrono::January / 1) + days(1);
constexpr sys_seconds kEndTime =
    std::chrono::sys_days(std::chrono::year::max() / std::chrono::December / 31) - days(1);

}  // namespace

Result<CronSchedule> CronSchedule::Parse(std::string_view text) {
  std::string_view rest = text;
  std::string_view words[5];
  words[0] = TakeWord(rest);
  if (words[0].starts_with('@')) {
    const auto* found = std::find_if(kShortcuts.begin(), kShortcuts.end(), [&](const auto& one) {
      return EqualInAnyCase(one.first, words[0]);
    });
    if (found == kShortcuts.end() || !TakeWord(rest).empty()) {
      return Error(ErrorCode::kIncorrect,
                   fmt::format("spec: \"{}\", must be @hourly, @daily, @midnight, @weekly, "
                               "@monthly, @yearly or @annually",
                               text));
    }
    return Parse(found->second);
  }
  for (int i = 1; i < 5; ++i) words[i] = TakeWord(rest);
  if (words[4].empty() || !TakeWord(rest).empty()) {
    return Error(
        ErrorCode::kIncorrect,
        fmt::format("spec: \"{}\", must be five fields: minute hour day month weekday", text));
  }
  const Field* const fields[5] = {&kMinute, &kHour, &kDay, &kMonth, &kWeekday};
  std::uint64_t bits[5];
  for (int i = 0; i < 5; ++i) {
    auto field = ParseField(*fields[i], words[i]);
    if (!field) return std::move(field.error());
    bits[i] = *field;
  }
  CronSchedule schedule;
  schedule.minutes_ = bits[0];
  schedule.hours_ = static_cast<std::uint32_t>(bits[1]);
  schedule.days_ = static_cast<std::uint32_t>(bits[2]);
  schedule.months_ = static_cast<std::uint32_t>(bits[3]);
  schedule.weekdays_ = static_cast<std::uint32_t>((bits[4] | bits[4] >> 7) & 0x7f);
  schedule.any_hour_ = words[1].starts_with('*');
  schedule.any_day_ = words[2].starts_with('*');
  schedule.any_weekday_ = words[4].starts_with('*');
  if (!schedule.DayExists()) {
    return Incorrect(kDay, words[2], fmt::format("a day of month {}", words[3]));
  }
  return schedule;
}

bool CronSchedule::DayExists() const {
  if (!any_weekday_ && !any_day_) return true;
  constexpr unsigned kDaysOf[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned month = 1; month <= 12; ++month) {
    if (!HasBit(months_, month)) continue;
    for (unsigned day = 1; day <= kDaysOf[month]; ++day) {
      if (HasBit(days_, day)) return true;
    }
  }
  return false;
}

bool CronSchedule::IsOn(local_days date) const {
  const std::chrono::year_month_day parts(date);
  if (!HasBit(months_, static_cast<unsigned>(parts.month()))) return false;
  const bool day = HasBit(days_, static_cast<unsigned>(parts.day()));
  const bool weekday = HasBit(weekdays_, std::chrono::weekday(date).c_encoding());
  return any_day_ || any_weekday_ ? day && weekday : day || weekday;
}

std::optional<sys_seconds> CronSchedule::Next(sys_seconds after, const CronZone& zone) const {
  if (after >= kEndTime) return std::nullopt;
  const sys_seconds since = std::max(after, kFirstTime);
  return Find(std::chrono::floor<minutes>(since) + minutes(1),
              std::min(since + days(366 * 40), kEndTime), zone);
}

std::uint64_t CronSchedule::Count(sys_seconds first, sys_seconds end, const CronZone& zone) const {
  const sys_seconds last = std::min(end, kEndTime);
  if (first >= last) return 0;
  const auto in_a_day = static_cast<std::uint64_t>(std::popcount(minutes_)) * std::popcount(hours_);
  std::uint64_t count = 0;
  sys_seconds time = std::chrono::ceil<minutes>(std::max(first, kFirstTime));
  while (time < last) {
    const seconds offset = zone.OffsetAt(time);
    const local_days date =
        std::chrono::floor<days>(local_seconds(time.time_since_epoch() + offset));
    const auto begin_of = [&](local_days day) -> sys_seconds {
      return std::chrono::ceil<minutes>(sys_seconds(local_seconds(day).time_since_epoch()) -
                                        offset);
    };
    const sys_seconds next_day = std::max<sys_seconds>(begin_of(date + days(1)), time + minutes(1));
    // A change in the hours before would have some of its times come twice.
    if (time == begin_of(date) && next_day <= last && zone.OffsetAt(next_day) == offset &&
        zone.OffsetAt(time - kLongestRepeat) == offset) {
      if (IsOn(date)) count += in_a_day;
    } else {
      const sys_seconds part_end = std::min(next_day, last);
      for (auto run = Find(time, part_end, zone); run;
           run = Find(*run + minutes(1), part_end, zone)) {
        ++count;
      }
    }
    time = next_day;
  }
  return count;
}

std::optional<sys_seconds> CronSchedule::Find(sys_seconds time, sys_seconds end,
                                              const CronZone& zone) const {
  // Within a quarter of an hour of UTC a zone's offset stays the same.
  using Quarter = std::chrono::duration<std::int64_t, std::ratio<15 * 60>>;
  while (time < end) {
    const seconds offset = zone.OffsetAt(time);
    const local_seconds local(time.time_since_epoch() + offset);
    const local_days date = std::chrono::floor<days>(local);
    const sys_seconds block_end = std::chrono::floor<Quarter>(time) + Quarter(1);
    if (!IsOn(date)) {
      // Nearly to midnight: it may come an hour or two sooner than it looks, if not in this quarter.
      const auto midnight =
          std::chrono::ceil<minutes>(time + (local_seconds(date + days(1)) - local));
      time = std::max<sys_seconds>(midnight - std::chrono::hours(3),
                                   std::min<sys_seconds>(midnight, block_end));
      continue;
    }
    for (; time < std::min(block_end, end); time += minutes(1)) {
      const local_seconds now(time.time_since_epoch() + offset);
      const auto of_day = std::chrono::floor<minutes>(now - std::chrono::floor<days>(now)).count();
      if (!HasBit(minutes_, static_cast<unsigned>(of_day % 60)) ||
          !HasBit(hours_, static_cast<unsigned>(of_day / 60)) ||
          !IsOn(std::chrono::floor<days>(now))) {
        continue;
      }
      if (any_hour_ || !IsSecondPass(time, offset, zone)) return time;
    }
  }
  return std::nullopt;
}

}  // namespace ergon::gen
