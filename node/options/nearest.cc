#include <ergon/node/options/nearest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace ergon::node {

std::size_t Distance(std::string_view left, std::string_view right) {
  constexpr std::size_t kLongest = 100;  // of what was written; the rest changes nothing
  left = left.substr(0, kLongest);
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace ergon::node
