// The progress bar on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace treesum {

struct Progress {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::chrono::duration<double> elapsed{0};
  // What there is altogether; 0: not known.
  std::uint64_t all_files = 0;
  std::uint64_t all_bytes = 0;
};

// One line of at most `width` columns. With the totals
//     [#########---------------------]  31%  17,613 files  262 MB  611 MB/s  0.95 s left
// and without
//     17,613 files  262 MB  611 MB/s  0.43 s
[[nodiscard]] std::string ProgressLine(const Progress& progress, int width);

// Draws on standard error, in place.
class ProgressBar {
 public:
  void Draw(const Progress& progress);
  // Takes the bar away, so that something else can be written.
  void Clear();

 private:
  bool visible_ = false;
};

}  // namespace treesum
