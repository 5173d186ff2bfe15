// Limits log lines that others cause and that may be very many: about a node that is away and gets messages all the
// time, a peer with the wrong cookie that does not give up, or messages that nobody handles. Some lines in each period
// are written, the others counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace ergon::gen {

//   if (const auto more = limit_.Take()) Log().Warning("{} is no number{}", text, *more);
//
// The limit of one kind of lines. One thread at a time.
class LogLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kLines = 10;
  static constexpr std::chrono::seconds kPeriod{10};

  explicit LogLimit(int lines = kLines) : most_(lines) {}

  // Returns what to append to the line: an empty text, or how many lines were left out before it. Returns none if the
  // line has to be left out.
  [[nodiscard]] std::optional<std::string> Take(Time now = std::chrono::steady_clock::now()) {
    if (now >= end_) {
      end_ = now + kPeriod;
      lines_ = 0;
    }
    if (lines_ == most_) {
      ++left_out_;
      return std::nullopt;
    }
    ++lines_;
    return TextOf(std::exchange(left_out_, 0));
  }
  // Returns what Take returns when so many lines were left out.
  [[nodiscard]] static std::string TextOf(std::uint64_t left_out) {
    if (left_out == 0) return {};
    return left_out == 1 ? std::string(" (1 line like this was left out before)")
                         : fmt::format(" ({} lines like this were left out before)", left_out);
  }
  // Returns how many lines were left out since the last one that was written.
  [[nodiscard]] std::uint64_t LeftOut() const noexcept { return left_out_; }

 private:
  int most_;
  Time end_{};
  int lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace ergon::gen
