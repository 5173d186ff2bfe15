#include "stats.h"

#include <algorithm>

#include <fmt/core.h>

#include "text.h"

namespace treesum {

std::string DescribeRun(const RunResult& result) {
  const Summary& summary = result.summary;
  std::string text = fmt::format("{}, {} in {}", FormatFiles(summary.files),
                                 FormatBytes(summary.bytes_read), FormatDuration(result.elapsed));
  std::string rate = FormatRate(summary.bytes_read, result.elapsed);
  if (!rate.empty()) text += " (" + rate + ")";
  if (result.links == 1) text += ", 1 link skipped";
  if (result.links > 1) text += ", " + FormatCount(result.links) + " links skipped";
  if (summary.problems.Total() > 0) text += "; " + summary.problems.ToString();
  return text;
}

std::string DescribePool(const ergon::gen::Inspection& inspection) {
  std::size_t width = 0;
  for (const auto& [key, value] : inspection) width = std::max(width, key.size());
  std::string table;
  for (const auto& [key, value] : inspection) {
    table += fmt::format("  {:<{}}  {}\n", key, width, value);
  }
  return table;
}

}  // namespace treesum
