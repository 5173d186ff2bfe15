#include "problem.h"

#include <cerrno>
#include <numeric>
#include <system_error>

#include "text.h"

namespace treesum {
namespace {

struct Words {
  std::string_view one;
  std::string_view many;
};

// In the order of ProblemKind.
constexpr std::array<Words, kProblemKinds> kWords = {{
    {"unreadable", "unreadable"},
    {"vanished", "vanished"},
    {"broken link", "broken links"},
    {"given twice", "given twice"},
    {"name with a newline", "names with newlines"},
    {"special file", "special files"},
    {"not processed", "not processed"},
}};

}  // namespace

Problem SystemProblem(std::string_view path, int error_number) {
  if (error_number == ENOENT) {
    return {ProblemKind::kVanished, std::string(path), "vanished before it could be read"};
  }
  return {ProblemKind::kUnreadable, std::string(path),
          std::system_category().message(error_number)};
}

std::uint64_t ProblemCounts::Total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::string ProblemCounts::ToString() const {
  std::string text;
  for (std::size_t kind = 0; kind < kProblemKinds; ++kind) {
    if (counts_[kind] == 0) continue;
    if (!text.empty()) text += ", ";
    text += FormatCount(counts_[kind]);
    text += ' ';
    text += counts_[kind] == 1 ? kWords[kind].one : kWords[kind].many;
  }
  return text;
}

}  // namespace treesum
