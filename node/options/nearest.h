// What somebody meant who has written a key that there is not.
#pragma once

#include <cstddef>
#include <string_view>

namespace ergon::node {

// Returns how many letters have to be changed, added or taken away; of long texts only the beginning counts.
[[nodiscard]] std::size_t Distance(std::string_view left, std::string_view right);

// Returns the name of `all`, which are not empty, that is nearest to what was written.
template <class All, class NameOf>
[[nodiscard]] std::string_view Nearest(std::string_view written, const All& all, NameOf name_of) {
  std::string_view nearest;
  for (const auto& one : all) {
    const std::string_view name = name_of(one);
    if (nearest.empty() || Distance(written, name) < Distance(written, nearest)) nearest = name;
  }
  return nearest;
}

}  // namespace ergon::node
