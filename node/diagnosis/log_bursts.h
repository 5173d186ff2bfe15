// The limit of a process's log lines, NodeOptions::log_burst.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ergon/core/clock.h>
#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/log_level.h>
#include <ergon/node/diagnosis/log_record.h>

namespace ergon::node {

// Takes so many lines in a second of each process name, or behaviour of processes without a name, and level; counts the
// others, and tells how many there were, a second after that second at the latest, or when the node ends. Any thread.
class LogBursts {
 public:
  static constexpr std::chrono::nanoseconds kPeriod = std::chrono::seconds(1);
  // More names and behaviours than that in one second share one limit for each level.
  static constexpr std::size_t kMostKeys = 1000;

  // Writes a line of the node. Called outside of locks.
  using Tell = std::function<void(gen::LogLevel level, const std::string& text)>;

  // `lines` is at least 1. Timers and clock outlive this.
  LogBursts(int lines, core::TimerQueue& timers, const core::Clock& clock, Tell tell);
  LogBursts(const LogBursts&) = delete;
  LogBursts& operator=(const LogBursts&) = delete;
  ~LogBursts();

  // Returns false if the line of a process has to be left out.
  [[nodiscard]] bool Admit(const LogRecord& line);
  // Returns how many were, in all.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    return left_out_.load(std::memory_order_relaxed);
  }

 private:
  using Key = std::pair<std::string, gen::LogLevel>;  // whose lines
  struct Second {
    std::int64_t end = 0;  // Clock ns
    int lines = 0;
    std::uint64_t left_out = 0;  // and not told yet
  };
  struct Rest {
    Key of;
    std::uint64_t left_out;
  };

  static void Fire(void* context, std::uint64_t);
  // Tells of all seconds, also those that go on: one timer is enough, and the end of the node fires it.
  void TellAll();
  // Returns whose line it is, and the second of that. Under the lock.
  std::map<Key, Second>::value_type& Find(const LogRecord& line, std::int64_t now);
  void Write(const Rest& rest) const;

  const int most_;
  core::TimerQueue& timers_;
  const core::Clock& clock_;
  const Tell tell_;
  std::atomic<std::uint64_t> left_out_{0};
  std::mutex mutex_;
  std::map<Key, Second> seconds_;
  bool is_armed_ = false;
  std::int64_t next_sweep_ = 0;  // Clock ns: of a full table, not for each line
  core::Timer timer_{&Fire, this};
};

}  // namespace ergon::node
