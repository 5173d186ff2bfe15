// Reads containers and pointers from packed bytes, as cereal writes them. cereal would make as many elements as the
// bytes announce before it reads the first one. These functions make each element when there are bytes for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <valarray>
#include <vector>

#include <cereal/types/array.hpp>
#include <cereal/types/atomic.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/bitset.hpp>
#include <cereal/types/chrono.hpp>
#include <cereal/types/complex.hpp>
#include <cereal/types/deque.hpp>
#include <cereal/types/forward_list.hpp>
#include <cereal/types/list.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/queue.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/stack.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/tuple.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/unordered_set.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/valarray.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>

#include <ergon/node/erlang/codec/crowded.h>
#include <ergon/node/erlang/packed/archive.h>

namespace ergon::dist {
namespace detail {

// Elements whose packed bytes are their bytes in memory.
template <class T>
inline constexpr bool kIsPlain = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
inline constexpr std::size_t kMostReservedElements = 64;

template <class T>
void ReadElements(CerealReader& in, T& container) {
  container.clear();
  for (std::size_t left = in.Count(); left != 0; --left) in(container.emplace_back());
}

template <class T>
void ReadKeys(CerealReader& in, T& set) {
  set.clear();
  FillingBuckets<T> filling(set);
  for (std::size_t left = in.Count(); left != 0; --left) {
    typename T::key_type key{};
    in(key);
    if (!filling.Add(std::move(key))) throw PackedProblem(CrowdedText());
  }
  if (!filling.Finish()) throw PackedProblem(CrowdedText());
}

template <class T>
void ReadEntries(CerealReader& in, T& map) {
  map.clear();
  FillingBuckets<T> filling(map);
  for (std::size_t left = in.Count(); left != 0; --left) {
    std::pair<typename T::key_type, typename T::mapped_type> entry{};
    in(entry.first, entry.second);
    if (!filling.Add(std::move(entry))) throw PackedProblem(CrowdedText());
  }
  if (!filling.Finish()) throw PackedProblem(CrowdedText());
}

}  // namespace detail

template <class Char, class Traits, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in,
                               std::basic_string<Char, Traits, Allocator>& value) {
  value.resize(in.CountOf(sizeof(Char)));
  in(cereal::binary_data(value.data(), value.size() * sizeof(Char)));
}

template <class T, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, std::vector<T, Allocator>& value) {
  if constexpr (detail::kIsPlain<T>) {
    value.resize(in.CountOf(sizeof(T)));
    in(cereal::binary_data(value.data(), value.size() * sizeof(T)));
  } else {
    const std::size_t count = in.Count();
    value.clear();
    value.reserve(std::min(count, detail::kMostReservedElements));
    for (std::size_t i = 0; i < count; ++i) in(value.emplace_back());
  }
}
template <class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, std::vector<bool, Allocator>& value) {
  value.clear();
  for (std::size_t left = in.CountOf(1); left != 0; --left) value.push_back(in.Truth());
}
template <class T, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, std::deque<T, Allocator>& value) {
  detail::ReadElements(in, value);
}
template <class T, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, std::list<T, Allocator>& value) {
  detail::ReadElements(in, value);
}
template <class T, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, std::forward_list<T, Allocator>& value) {
  value.clear();
  auto last = value.before_begin();
  for (std::size_t left = in.Count(); left != 0; --left) {
    last = value.emplace_after(last);
    in(*last);
  }
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, std::valarray<T>& value) {
  std::vector<T> elements;
  in(elements);
  value.resize(elements.size());
  std::move(elements.begin(), elements.end(), std::begin(value));
}
template <class Key, class Hash, class Equal, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in,
                               std::unordered_set<Key, Hash, Equal, Allocator>& value) {
  detail::ReadKeys(in, value);
}
template <class Key, class Hash, class Equal, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in,
                               std::unordered_multiset<Key, Hash, Equal, Allocator>& value) {
  detail::ReadKeys(in, value);
}

template <class Key, class T, class Hash, class Equal, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in,
                               std::unordered_map<Key, T, Hash, Equal, Allocator>& value) {
  detail::ReadEntries(in, value);
}
template <class Key, class T, class Hash, class Equal, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in,
                               std::unordered_multimap<Key, T, Hash, Equal, Allocator>& value) {
  detail::ReadEntries(in, value);
}

// cereal would reverse the order of equal keys.
template <class Key, class T, class Less, class Allocator>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, std::multimap<Key, T, Less, Allocator>& value) {
  value.clear();
  for (std::size_t left = in.Count(); left != 0; --left) {
    std::pair<Key, T> entry;
    in(entry.first, entry.second);
    value.emplace(std::move(entry));
  }
}

// See PackedIn::AddShared.
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in,
                               cereal::memory_detail::PtrWrapper<std::shared_ptr<T>&>& wrapper) {
  using Object = std::remove_const_t<T>;
  static_assert(!cereal::traits::has_load_and_construct<Object, CerealReader>::value,
                "what is read into a std::shared_ptr must be default constructible: "
                "load_and_construct is not for values of other nodes");
  const auto number = in.Number<std::uint32_t>();
  const std::uint32_t index = number & ~cereal::detail::msb_32bit;
  if (number == index) {
    wrapper.ptr = std::static_pointer_cast<T>(in.FindShared(index, typeid(Object)));
    return;
  }
  std::shared_ptr<Object> object(cereal::access::construct<Object>());
  in.AddShared(index, object, typeid(Object));
  in(*object);
  in.FinishShared(index);
  wrapper.ptr = std::move(object);
}

}  // namespace ergon::dist
