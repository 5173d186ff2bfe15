// Keys that a peer has chosen so that a hash table keeps them all in one place. Each further one would be compared with
// all of them: a message of a megabyte would take a minute.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>

namespace ergon::dist::detail {

// More different keys than that share a bucket only by a bad hash, or on purpose.
inline constexpr std::size_t kMostInBucket = 128;
[[nodiscard]] inline std::string CrowdedText() {
  return "more than " + std::to_string(kMostInBucket) + " keys in one bucket: give it another hash";
}

// std::unordered_set, unordered_map and those with equal keys.
template <class T>
inline constexpr bool kHasBuckets = requires(const T& container, const typename T::key_type& key) {
  container.bucket(key);
  container.begin(std::size_t{});
  container.key_eq();
};

// Returns whether the element at `place`, which was inserted last, shares its bucket with more than kMostInBucket keys
// that differ. Equal keys are side by side: it is no further key if the next one is equal.
template <class Container, class Place>
bool IsCrowded(const Container& container, const Place& place) {
  if (container.size() <= kMostInBucket) return false;
  const auto key_of = [](const auto& element) -> const typename Container::key_type& {
    if constexpr (requires { typename Container::mapped_type; }) {
      return element.first;
    } else {
      return element;
    }
  };
  const auto is_equal = container.key_eq();
  const auto next = std::next(place);
  if (next != container.end() && is_equal(key_of(*next), key_of(*place))) return false;
  const std::size_t bucket = container.bucket(key_of(*place));
  std::size_t keys = 0;
  for (auto at = container.begin(bucket), end = container.end(bucket); at != end;) {
    if (++keys > kMostInBucket) return true;
    const auto& key = key_of(*at);
    do ++at;
    while (at != end && is_equal(key_of(*at), key));
  }
  return false;
}

}  // namespace ergon::dist::detail
