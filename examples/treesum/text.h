// Numbers and names as people like to read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace treesum {

// "57,197"
[[nodiscard]] std::string FormatCount(std::uint64_t count);
// "1 file", "57,197 files"
[[nodiscard]] std::string FormatFiles(std::uint64_t count);
// Three digits and a decimal unit: "0 B", "842 MB", "1.42 GB"
[[nodiscard]] std::string FormatBytes(std::uint64_t bytes);
// "0.61 s" below ten seconds, "12 s" below a minute, then "1:05", "2:03:45"
[[nodiscard]] std::string FormatDuration(std::chrono::duration<double> duration);
// "1.42 GB/s"; empty when there is too little to tell
[[nodiscard]] std::string FormatRate(std::uint64_t bytes, std::chrono::duration<double> duration);

// A path that is safe to show: backslashes, control characters and what is no UTF-8 are escaped, as in
// "a\nb".
[[nodiscard]] std::string Printable(std::string_view path);

// Writes one line "treesum: <text>" to standard error, in one piece.
void WriteMessage(std::string_view text);
// Likewise, but only if standard error takes it without waiting.
void WriteMessageIfReady(std::string_view text);
// Writes to standard error as it is.
void WriteError(std::string_view text);

}  // namespace treesum
