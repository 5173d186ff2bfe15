#include "text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

namespace treesum {
namespace {

// How many bytes the first character of `text` has in UTF-8; 0: it is none.
std::size_t SizeOfCharacter(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  // No surrogates, nothing beyond Unicode, and nothing that takes fewer bytes.
  const int least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const int most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return size;
}

// Whether a terminal could take the character for an order. Those from U+0080 to U+009F are control characters, too.
bool IsControl(std::string_view character) {
  const auto byte = [character](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  return byte(0) < 0x20 || byte(0) == 0x7f || (byte(0) == 0xC2 && byte(1) < 0xA0);
}

}  // namespace

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
  while (!path.empty()) {
    const std::size_t size = SizeOfCharacter(path);
    const std::string_view character = path.substr(0, std::max<std::size_t>(size, 1));
    path.remove_prefix(character.size());
    if (character == "\\") {
      text += "\\\\";
    } else if (character == "\n") {
      text += "\\n";
    } else if (character == "\r") {
      text += "\\r";
    } else if (character == "\t") {
      text += "\\t";
    } else if (size == 0 || IsControl(character)) {
      for (char byte : character) {
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
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
