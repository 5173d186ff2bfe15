// Values that may be absent, or one of several types, as terms of Erlang.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/node/erlang/codec/codec.h>
#include <ergon/node/erlang/codec/fields.h>

namespace ergon::dist::detail {

template <class T>
struct Codec<std::optional<T>> : PlainCodec {
  static constexpr bool kMayBeMissing = true;
  static_assert(std::is_default_constructible_v<T>,
                "what may be absent for other nodes must be default constructible: it is made "
                "before it is read");

  static void Write(ValueWriter& writer, const std::optional<T>& value) {
    value ? Codec<T>::Write(writer, *value) : writer.Nothing();
  }
  static bool Read(ValueReader& reader, std::optional<T>& value) {
    if (!IsAbsent(reader.in)) return Codec<T>::Read(reader, value.emplace());
    value.reset();
    reader.in.Skip();
    return true;
  }
  static int Fit(TermReader next) { return IsAbsent(next) ? kFitsWell : Codec<T>::Fit(next); }
  static void Describe(TypeReview& review) { Codec<T>::Describe(review); }
  static void AddAlternatives(std::vector<Alternative>& all) { Codec<T>::AddAlternatives(all); }
};

// Throws std::logic_error with the names of both types if two types look the same.
void CheckAlternatives(const std::vector<Alternative>& all);

bool ExpectedOneOf(ValueReader& reader, std::initializer_list<const std::type_info*> types);

template <class... Types>
struct Codec<std::variant<Types...>> : PlainCodec {
  using Variant = std::variant<Types...>;
  static_assert((std::is_default_constructible_v<Types> && ...),
                "the types of a variant for other nodes must be default constructible: one is made "
                "before it is read");

  static void Write(ValueWriter& writer, const Variant& value) {
    std::visit([&]<class T>(const T& alternative) { Codec<T>::Write(writer, alternative); }, value);
  }
  // Reads the type that fits best, or the first one of several. The type is chosen before anything is read.
  static bool Read(ValueReader& reader, Variant& value) {
    const int best = Fit(reader.in);
    if (best == kFitsNot) return ExpectedOneOf(reader, {&typeid(Types)...});
    bool done = false;
    bool read = false;
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      ((done =
            done || (Codec<Types>::Fit(reader.in) == best &&
                     (read = Codec<Types>::Read(reader, value.template emplace<kIndex>()), true))),
       ...);
    }
    (std::index_sequence_for<Types...>());
    return read;
  }
  static int Fit(TermReader next) { return std::max({Codec<Types>::Fit(next)...}); }
  static void Describe(TypeReview& review) {
    std::vector<Alternative> all;
    AddAlternatives(all);
    CheckAlternatives(all);
    (Codec<Types>::Describe(review), ...);
  }
  static void AddAlternatives(std::vector<Alternative>& all) {
    (Codec<Types>::AddAlternatives(all), ...);
  }
};

}  // namespace ergon::dist::detail
