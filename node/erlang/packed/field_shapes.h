// What a field's type tells of its packed bytes: it is a number, a variant, has elements, or points to something.
#pragma once

#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

namespace ergon::dist::detail {

// Returns, for example, "i4", "u8" or "f8".
template <class T>
std::string WordOfNumber() {
  const char kind = std::is_same_v<T, bool>       ? 'b'
                    : std::is_floating_point_v<T> ? 'f'
                    : std::is_signed_v<T>         ? 'i'
                                                  : 'u';
  std::string word = kind + std::to_string(sizeof(T));
  // Which differs between machines where it has the same size.
  if (std::is_same_v<T, long double>) word += 'm' + std::to_string(std::numeric_limits<T>::digits);
  return word;
}

template <class T>
inline constexpr bool kIsVariant = false;
template <class... Types>
inline constexpr bool kIsVariant<std::variant<Types...>> = true;
template <class T>
concept HasSize = requires {
  std::tuple_size<T>::value;
};
template <class T>
concept PointsToOne = requires {
  typename T::element_type;
};
template <class T>
concept HasElements = requires {
  typename T::value_type;
};
// Of these, those whose bytes are others than a count and so many elements.
template <class T>
concept IsOptional = requires(const T& field) {
  field.has_value();
};
template <class T>
concept IsAtomic = requires(const T& field) {
  field.is_lock_free();
};
template <class T>
concept IsComplex = requires(const T& field) {
  field.imag();
};
// std::unique_ptr. Of the others it is told which object they share.
template <class T>
concept PointsAlone = requires {
  typename T::deleter_type;
};

// The next two concepts are for types that stand around a field.
template <class T>
concept BaseClass = requires(const T& field) {
  field.base_ptr;
};
template <class T>
concept AroundOne = requires(const T& field) {
  field.name;
  field.value;
};

}  // namespace ergon::dist::detail
