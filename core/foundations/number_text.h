// Times and counts as text, for errors and lines of the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace ergon::core {

// Returns a time exactly, as in a file of options: the largest unit that leaves no rest, as in "2s", "1500ms" or
// "-1ns". No time is "0", the longest one "infinite".
[[nodiscard]] std::string ExactTime(std::chrono::nanoseconds time);
// Returns a time with three digits, as in "1.5 s", "46.3 ms" or "20 us"; from a second on in seconds, as in "3600 s".
// No time is "0 ms".
[[nodiscard]] std::string RoundTime(std::chrono::nanoseconds time);
// Returns a number with what is counted, as in "1 process" or "3 processes".
[[nodiscard]] std::string Counted(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace ergon::core
