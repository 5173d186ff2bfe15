// Keys that a peer has chosen so that a hash table keeps them all in one place. Each further one would be compared with
// all of them: a message of a megabyte would take a minute.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

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
// Of these, std::unordered_multiset and unordered_multimap.
template <class T>
inline constexpr bool kHasEqualKeys = requires(T& container, typename T::value_type& element) {
  { container.insert(std::move(element)) } -> std::same_as<typename T::iterator>;
};

// Returns whether the element at `place`, which was inserted last, shares its bucket with more than kMostInBucket - 1
// others. The container has no equal keys.
template <class Container, class Place>
bool IsCrowded(const Container& container, const Place& place) {
  if (container.size() <= kMostInBucket) return false;
  if constexpr (requires { typename Container::mapped_type; }) {
    return container.bucket_size(container.bucket(place->first)) > kMostInBucket;
  } else {
    return container.bucket_size(container.bucket(*place)) > kMostInBucket;
  }
}

// Fills an empty container that has buckets. What has equal keys gets all elements of a key one after the other, behind
// a hint: without it, each would be looked for behind those of another key in that bucket, of which there may be a
// million.
template <class Container>
class FillingBuckets {
 public:
  explicit FillingBuckets(Container& container)
      : container_(container), groups_(0, container.hash_function(), container.key_eq()) {}

  // Takes a key, or a std::pair of a key and its value. Returns false if its bucket is crowded.
  template <class Element>
  [[nodiscard]] bool Add(Element&& element) {
    if constexpr (kHasEqualKeys<Container>) {
      ++elements_;
      const auto [group, is_new] = groups_.try_emplace(KeyOf(element));
      group->second.push_back(std::forward<Element>(element));
      return !is_new || !IsCrowded(groups_, group);
    } else {
      return !IsCrowded(container_, container_.insert(std::forward<Element>(element)).first);
    }
  }
  // After the last element. Returns false if a bucket is crowded: the container has other ones than the groups.
  [[nodiscard]] bool Finish() {
    if (groups_.empty()) return true;
    container_.reserve(elements_);  // so that these are its buckets for good
    std::vector<std::uint8_t> keys(container_.bucket_count());
    static_assert(kMostInBucket < 0xff);
    for (auto& [key, group] : groups_) {
      if (++keys[container_.bucket(key)] > kMostInBucket) return false;
      auto hint = container_.end();
      for (auto& element : group) hint = container_.emplace_hint(hint, std::move(element));
    }
    return true;
  }

 private:
  using Key = typename Container::key_type;
  template <class C>
  struct ElementOf {  // no std::vector<bool>, whose elements are none
    using Type = std::conditional_t<std::is_same_v<Key, bool>, unsigned char, Key>;
  };
  template <class C>
  requires requires { typename C::mapped_type; }
  struct ElementOf<C> {
    using Type = std::pair<Key, typename C::mapped_type>;
  };
  using Group = std::vector<typename ElementOf<Container>::Type>;

  static const Key& KeyOf(const Key& key) { return key; }
  template <class Mapped>
  static const Key& KeyOf(const std::pair<Key, Mapped>& entry) {
    return entry.first;
  }

  Container& container_;
  // By key. Empty if the container has no equal keys.
  std::unordered_map<Key, Group, typename Container::hasher, typename Container::key_equal> groups_;
  std::size_t elements_ = 0;  // in all of these
};

}  // namespace ergon::dist::detail
