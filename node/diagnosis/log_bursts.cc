#include <ergon/node/diagnosis/log_bursts.h>

#include <optional>

#include <fmt/core.h>

namespace ergon::node {

LogBursts::LogBursts(int lines, core::TimerQueue& timers, const core::Clock& clock, Tell tell)
    : most_(lines), timers_(timers), clock_(clock), tell_(std::move(tell)) {}

LogBursts::~LogBursts() { (void)timers_.Disarm(timer_); }

bool LogBursts::Admit(const LogRecord& line) {
  std::optional<Rest> rest;
  bool is_taken = true;
  {
    std::lock_guard lock(mutex_);
    const std::int64_t now = clock_.Now();
    auto& [key, second] = Find(line, now);
    if (now >= second.end) {
      // The timer may be late: what was left out is told first.
      if (second.left_out != 0) rest = Rest{key, second.left_out};
      second = {.end = now + kPeriod.count()};
    }
    is_taken = second.lines < most_;
    if (is_taken) {
      ++second.lines;
    } else {
      ++second.left_out;
      left_out_.fetch_add(1, std::memory_order_relaxed);
      if (!std::exchange(is_armed_, true)) timers_.Arm(timer_, second.end);
    }
  }
  if (rest) Write(*rest);
  return is_taken;
}

std::map<LogBursts::Key, LogBursts::Second>::value_type& LogBursts::Find(const LogRecord& line,
                                                                         std::int64_t now) {
  Key key(line.name.empty() ? line.behavior : fmt::format("'{}'", line.name), line.level);
  auto found = seconds_.find(key);
  if (found != seconds_.end()) return *found;
  if (seconds_.size() >= kMostKeys && now >= next_sweep_) {
    next_sweep_ = now + kPeriod.count() / 10;
    std::erase_if(seconds_, [now](const auto& entry) {
      return now >= entry.second.end && entry.second.left_out == 0;
    });
  }
  if (seconds_.size() >= kMostKeys) key.first = "other processes";
  return *seconds_.try_emplace(std::move(key)).first;
}

void LogBursts::Fire(void* context, std::uint64_t) { static_cast<LogBursts*>(context)->TellAll(); }

void LogBursts::TellAll() {
  std::vector<Rest> rests;
  {
    std::lock_guard lock(mutex_);
    is_armed_ = false;
    for (auto& [key, second] : seconds_) {
      if (second.left_out != 0) rests.push_back({key, std::exchange(second.left_out, 0)});
    }
  }
  for (const Rest& rest : rests) Write(rest);
}

void LogBursts::Write(const Rest& rest) const {
  const auto& [who, level] = rest.of;
  const bool is_one = rest.left_out == 1;
  tell_(level, fmt::format("{} {} of {} of level {} {} left out: more than {} in a second",
                           rest.left_out, is_one ? "line" : "lines", who, gen::ToString(level),
                           is_one ? "was" : "were", most_));
}

}  // namespace ergon::node
