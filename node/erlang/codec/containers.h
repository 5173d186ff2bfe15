// Values that contain other values, as terms of Erlang: lists, maps, tuples.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ergon/node/erlang/codec/codec.h>
#include <ergon/node/erlang/codec/crowded.h>

namespace ergon::dist::detail {

// The most elements that are reserved for the announced size of a list, so that a false size costs no memory.
inline constexpr std::size_t kMostReserved = 1024;

// Containers such as std::vector, deque, list, set and unordered_set.
template <class T>
concept Sequence = requires(T& container, typename T::value_type&& element) {
  { container.size() } -> std::convertible_to<std::size_t>;
  container.clear();
  container.insert(container.end(), std::move(element));
  container.begin();
}
&&!requires { typename T::mapped_type; }
&&!requires { typename T::traits_type; };

// Containers such as std::map and unordered_map, which have no key twice.
template <class T>
concept Dictionary = requires(T& container, typename T::key_type&& key,
                              typename T::mapped_type&& value) {
  { container.size() } -> std::convertible_to<std::size_t>;
  container.clear();
  container.insert_or_assign(std::move(key), std::move(value));
};

template <class T>
void WriteElement(ValueWriter& writer, std::size_t index, const T& value) {
  if (writer.problem.failed()) return;
  Codec<T>::Write(writer, value);
  if (writer.problem.failed()) writer.problem.InElement(index);
}

template <class T>
bool ReadElement(ValueReader& reader, std::size_t index, T& value) {
  if (Codec<T>::Read(reader, value)) return true;
  reader.problem.InElement(index);
  return false;
}

template <class T>
void WriteList(ValueWriter& writer, const T& elements) {
  const Nesting nesting(writer.problem);
  if (!nesting) return;
  writer.out.List(elements.size());
  std::size_t index = 0;
  for (const auto& element : elements) {
    WriteElement<typename T::value_type>(writer, index++, element);
  }
  writer.out.Nil();
}

// Calls read(index) for each element of a proper list.
template <class Read>
bool ReadList(ValueReader& reader, Read read) {
  const TermReader found = reader.in;
  const Nesting nesting(reader.problem);
  if (!nesting) return false;
  std::size_t size = 0;
  std::size_t index = 0;
  while (reader.in.EnterList(size)) {
    if (size == 0) return true;
    for (; size != 0; --size) {
      if (!read(index++)) return false;
    }
  }
  return reader.Expected("a list", found);
}

template <Sequence T>
struct Codec<T> : PlainCodec {
  using Element = typename T::value_type;
  static_assert(std::is_default_constructible_v<Element>,
                "elements of a container for other nodes must be default constructible: they are "
                "made before they are read");

  static void Write(ValueWriter& writer, const T& value) { WriteList(writer, value); }
  static bool Read(ValueReader& reader, T& value) {
    value.clear();
    if constexpr (requires { value.reserve(kMostReserved); }) {
      std::size_t size = 0;
      if (TermReader(reader.in).EnterList(size)) value.reserve(std::min(size, kMostReserved));
    }
    if constexpr (kHasBuckets<T>) return ReadIntoBuckets(reader, value);
    return ReadList(reader, [&](std::size_t index) {
      if constexpr (requires {
                      { value.emplace_back() } -> std::same_as<Element&>;
                    }) {
        return ReadElement(reader, index, value.emplace_back());
      } else {
        Element element{};
        if (!ReadElement(reader, index, element)) return false;
        value.insert(value.end(), std::move(element));
        return true;
      }
    });
  }
  static int Fit(TermReader next) { return next.kind() == TermKind::kList ? kFitsWell : kFitsNot; }
  static void Describe(TypeReview& review) { Codec<Element>::Describe(review); }

 private:
  static bool ReadIntoBuckets(ValueReader& reader, T& value) {
    FillingBuckets<T> filling(value);
    const bool is_read = ReadList(reader, [&](std::size_t index) {
      Element element{};
      if (!ReadElement(reader, index, element)) return false;
      return filling.Add(std::move(element)) || reader.problem.Fail(CrowdedText());
    });
    return is_read && (filling.Finish() || reader.problem.Fail(CrowdedText()));
  }
};

template <class T, std::size_t kSize>
struct Codec<std::array<T, kSize>> : PlainCodec {
  using Array = std::array<T, kSize>;
  static void Write(ValueWriter& writer, const Array& value) { WriteList(writer, value); }
  static bool Read(ValueReader& reader, Array& value) {
    const TermReader found = reader.in;
    std::size_t count = 0;
    const bool read = ReadList(reader, [&](std::size_t index) {
      count = index + 1;
      if (index == kSize) return reader.Expected(What(), found);
      return ReadElement(reader, index, value[index]);
    });
    if (!read) return false;
    return count == kSize || reader.Expected(What(), found);
  }
  static int Fit(TermReader next) { return next.kind() == TermKind::kList ? kFitsWell : kFitsNot; }
  static void Describe(TypeReview& review) { Codec<T>::Describe(review); }

 private:
  [[nodiscard]] static std::string What() { return "a list of " + std::to_string(kSize); }
};

template <Dictionary T>
struct Codec<T> : PlainCodec {
  using Key = typename T::key_type;
  using Mapped = typename T::mapped_type;
  static_assert(
      std::is_default_constructible_v<Key> && std::is_default_constructible_v<Mapped>,
      "keys and values of a container for other nodes must be default constructible: they "
      "are made before they are read");

  static void Write(ValueWriter& writer, const T& value) {
    const Nesting nesting(writer.problem);
    if (!nesting) return;
    writer.out.Map(value.size());
    std::size_t index = 0;
    for (const auto& [key, mapped] : value) {
      WriteElement<Key>(writer, index, key);
      WriteElement<Mapped>(writer, index++, mapped);
    }
  }
  static bool Read(ValueReader& reader, T& value) {
    const Nesting nesting(reader.problem);
    if (!nesting) return false;
    std::size_t size = 0;
    if (!reader.in.EnterMap(size)) return reader.Expected("a map");
    value.clear();
    for (; size != 0; --size) {
      const TermReader entry = reader.in;
      Key key{};
      Mapped mapped{};
      if (!Codec<Key>::Read(reader, key) || !Codec<Mapped>::Read(reader, mapped)) {
        return reader.InKey(entry);
      }
      if constexpr (kHasBuckets<T>) {
        const auto place = value.insert_or_assign(std::move(key), std::move(mapped)).first;
        if (IsCrowded(value, place)) {
          (void)reader.problem.Fail(CrowdedText());
          return reader.InKey(entry);
        }
      } else {
        value.insert_or_assign(std::move(key), std::move(mapped));
      }
    }
    return true;
  }
  static int Fit(TermReader next) { return next.kind() == TermKind::kMap ? kFitsWell : kFitsNot; }
  static void Describe(TypeReview& review) {
    Codec<Key>::Describe(review);
    Codec<Mapped>::Describe(review);
  }
};

// Enters the next term, a tuple of this size. If it is anything else, notes a problem and returns false.
bool EnterTupleOf(ValueReader& reader, std::size_t size);
int FitOfTuple(TermReader next, std::size_t size);

template <class T>
requires requires { std::tuple_size<T>::value; }
struct Codec<T> : PlainCodec {
  static constexpr std::size_t kSize = std::tuple_size_v<T>;

  static void Write(ValueWriter& writer, const T& value) {
    const Nesting nesting(writer.problem);
    if (!nesting) return;
    writer.out.Tuple(kSize);
    std::size_t index = 0;
    std::apply([&](const auto&... parts) { (WriteElement(writer, index++, parts), ...); }, value);
  }
  static bool Read(ValueReader& reader, T& value) {
    const Nesting nesting(reader.problem);
    if (!nesting || !EnterTupleOf(reader, kSize)) return false;
    std::size_t index = 0;
    return std::apply([&](auto&... parts) { return (ReadElement(reader, index++, parts) && ...); },
                      value);
  }
  static int Fit(TermReader next) { return FitOfTuple(next, kSize); }
  static void Describe(TypeReview& review) {
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (Codec<std::tuple_element_t<kIndex, T>>::Describe(review), ...);
    }
    (std::make_index_sequence<kSize>());
  }
};

}  // namespace ergon::dist::detail
