#include "text.h"

#include <cerrno>
#include <cmath>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

namespace treesum {

std::string FormatCount(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t left = digits.size(); left > 3; left -= 3) digits.insert(left - 3, 1, ',');
  return digits;
}

std::string FormatFiles(std::uint64_t count) {
  return FormatCount(count) + (count == 1 ? " file" : " files");
}

std::string FormatBytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  static constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  int unit = 0;
  while (value >= 999.5) {  // would be shown with four digits
    value /= 1000;
    ++unit;
  }
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string FormatDuration(std::chrono::duration<double> duration) {
  double seconds = duration.count();
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string FormatRate(std::uint64_t bytes, std::chrono::duration<double> duration) {
  if (bytes == 0 || duration.count() < 0.001) return {};
  return FormatBytes(static_cast<std::uint64_t>(static_cast<double>(bytes) / duration.count())) +
         "/s";
}

std::string Printable(std::string_view path) {
  std::string text;
  text.reserve(path.size());
  for (char character : path) {
    auto byte = static_cast<unsigned char>(character);
    if (character == '\\') {
      text += "\\\\";
    } else if (character == '\n') {
      text += "\\n";
    } else if (character == '\r') {
      text += "\\r";
    } else if (character == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += character;
    }
  }
  return text;
}

void WriteMessage(std::string_view text) {
  std::string line = "treesum: ";
  line += text;
  line += '\n';
  WriteError(line);
}

void WriteMessageIfReady(std::string_view text) {
  pollfd errors{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&errors, 1, 0) != 0) WriteMessage(text);
}

void WriteError(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return;  // there is nowhere left to complain
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace treesum
