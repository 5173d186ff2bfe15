// The first entries of a table by name, for lists that show only so many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <ergon/gen/atom.h>

namespace ergon::node {

// Keeps the first `most` entries in the order of their names, and only those. Linear in all, for a small `most`.
template <class Value>
void KeepFirstByName(std::vector<std::pair<gen::Atom, Value>>& entries, std::size_t most) {
  const std::size_t count = std::min(most, entries.size());
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::partial_sort(entries, end, {}, [](const auto& entry) { return entry.first.Text(); });
  entries.erase(end, entries.end());
}

}  // namespace ergon::node
