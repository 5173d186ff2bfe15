// The largest that a number has been lately: how much of something may soon be needed again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ergon::core {

// One thread at a time. Times are of one clock, in nanoseconds.
class RecentPeak {
 public:
  static constexpr std::int64_t kPeriod = 1'000'000'000;

  // Notes what the number is from `now` on.
  void Note(std::size_t number, std::int64_t now) noexcept {
    BeginPeriod(now);
    number_ = number;
    peak_ = std::max(peak_, number);
  }

  // Returns the largest number of this period and the one before.
  [[nodiscard]] std::size_t Get(std::int64_t now) noexcept {
    BeginPeriod(now);
    return std::max(peak_, former_peak_);
  }

 private:
  void BeginPeriod(std::int64_t now) noexcept {
    const std::int64_t lasted = now - began_;
    if (lasted < kPeriod) return;
    const bool is_next = lasted < 2 * kPeriod;
    former_peak_ = is_next ? peak_ : number_;
    peak_ = number_;
    began_ = is_next ? began_ + kPeriod : now;
  }

  std::size_t number_ = 0;
  std::size_t peak_ = 0;         // since began_
  std::size_t former_peak_ = 0;  // of the period before
  std::int64_t began_ = 0;
};

}  // namespace ergon::core
