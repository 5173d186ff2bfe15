#include "progress.h"

#include <algorithm>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "text.h"

namespace treesum {
namespace {

// Opening a file takes about as long as summing up this many bytes.
constexpr double kFileCost = 16'000;

constexpr int kBarWidth = 30;    // at most; narrower terminals have a shorter one
constexpr int kMinBarWidth = 5;  // or none
constexpr int kBarFrame = 3;     // brackets and a blank
constexpr int kDefaultColumns = 80;

// 0 to 1.
double Fraction(const Progress& progress) {
  auto cost = [](std::uint64_t files, std::uint64_t bytes) {
    return static_cast<double>(files) * kFileCost + static_cast<double>(bytes);
  };
  double all = cost(progress.all_files, progress.all_bytes);
  return all == 0 ? 0 : std::min(1.0, cost(progress.files, progress.bytes) / all);
}

int TerminalColumns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultColumns;
  return size.ws_col;
}

}  // namespace

std::string ProgressLine(const Progress& progress, int width) {
  double fraction = Fraction(progress);
  std::string line = FormatFiles(progress.files) + "  " + FormatBytes(progress.bytes);
  std::string rate = FormatRate(progress.bytes, progress.elapsed);
  if (!rate.empty()) line += "  " + rate;
  if (fraction > 0) {
    line += "  " + FormatDuration(progress.elapsed * (1 / fraction - 1)) + " left";
    line = fmt::format("{:3}%  {}", static_cast<int>(fraction * 100), line);
    int bar = std::min(kBarWidth, width - static_cast<int>(line.size()) - kBarFrame);
    if (bar >= kMinBarWidth) {
      int done = static_cast<int>(fraction * bar);
      line = fmt::format("[{}{}] {}", std::string(done, '#'), std::string(bar - done, '-'), line);
    }
  } else {
    line += "  " + FormatDuration(progress.elapsed);
  }
  if (static_cast<int>(line.size()) > width) line.resize(std::max(width, 0));
  return line;
}

void ProgressBar::Draw(const Progress& progress) {
  // The last column stays free: some terminals would begin a new line.
  WriteError("\r" + ProgressLine(progress, TerminalColumns() - 1) + "\033[K");
  visible_ = true;
}

void ProgressBar::Clear() {
  if (visible_) WriteError("\r\033[K");
  visible_ = false;
}

}  // namespace treesum
