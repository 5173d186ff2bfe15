// Describes in words what a type that is packed with cereal is made of. If two nodes have the same words, they read
// each other's values as they were written. Users read cereal.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ergon/core/messages/type_descriptor.h>
#include <ergon/node/erlang/packed/containers.h>
#include <ergon/node/erlang/packed/field_shapes.h>

namespace ergon::dist {

// An archive that finds out which fields a type has, for serialize, save and save_minimal.
class CerealLayout {
 public:
  using is_saving = std::true_type;
  using is_loading = std::false_type;

  template <class... Fields>
  CerealLayout& operator()(const Fields&... fields) {
    ((Visit(fields), words_ += ','), ...);
    return *this;
  }
  template <class Field>
  CerealLayout& operator&(const Field& field) {
    return (*this)(field);
  }
  template <class Field>
  CerealLayout& operator<<(const Field& field) {
    return (*this)(field);
  }

  // Appends a description of T to words(), as in "Order:1{i4,[s1]}".
  template <class T>
  void Describe();
  [[nodiscard]] const std::string& words() const noexcept { return words_; }
  // Returns whether a value is known to contain no other values of its type. The value behind a pointer is not known:
  // it may be of a derived type.
  [[nodiscard]] bool is_bounded() const noexcept {
    return is_bounded_ && words_.find(kPointer) == std::string::npos;
  }

 private:
  static constexpr char kPointer = '^';

  template <class T>
  void Visit(const T& field);
  // Describes what has a value_type.
  template <class T>
  void DescribeElements();
  // Describes a class by its serialize or save.
  template <class T>
  void DescribeFields(T& value);
  // Returns false if T has been described already.
  template <class T>
  bool Enter() {
    const core::TypeDescriptor* const type = core::TypeOf<T>();
    words_ += type->Name() + ':' + std::to_string(detail::VersionOf<T>());
    if (std::any_of(seen_.begin(), seen_.end(),
                    [&](const core::TypeDescriptor* seen) { return core::SameType(seen, type); })) {
      is_bounded_ = false;  // or it is there twice, side by side
      return false;
    }
    seen_.push_back(type);
    if (!std::is_default_constructible_v<T>) is_bounded_ = false;  // nothing is known of its fields
    return true;
  }

  std::string words_;
  std::vector<const core::TypeDescriptor*> seen_;
  bool is_bounded_ = true;
};

namespace detail {

// How cereal saves a class, as far as an archive can know.
template <class T>
concept SavesItself = cereal::traits::has_member_serialize<T, CerealLayout>::value ||
    cereal::traits::has_member_versioned_serialize<T, CerealLayout>::value ||
    cereal::traits::has_member_save<T, CerealLayout>::value ||
    cereal::traits::has_member_versioned_save<T, CerealLayout>::value ||
    cereal::traits::has_member_save_minimal<T, CerealLayout>::value;
template <class T>
concept SavedBeside = cereal::traits::has_non_member_serialize<T, CerealLayout>::value ||
    cereal::traits::has_non_member_versioned_serialize<T, CerealLayout>::value ||
    cereal::traits::has_non_member_save<T, CerealLayout>::value ||
    cereal::traits::has_non_member_versioned_save<T, CerealLayout>::value;

}  // namespace detail

template <class T>
void CerealLayout::Visit(const T& field) {
  if constexpr (detail::kIsWrapper<T> && detail::AroundOne<T>) {
    Visit(field.value);
  } else if constexpr (detail::BaseClass<T>) {
    Visit(*field.base_ptr);
  } else if constexpr (detail::kIsWrapper<T>) {
    words_ += "bytes";  // or how many there are of what comes next
  } else if constexpr (detail::AroundOne<T> && detail::Named<T>) {
    Visit(field.value);
  } else {
    Describe<T>();
  }
}

template <class T>
void CerealLayout::DescribeFields(T& value) {
  namespace traits = cereal::traits;
  using cereal::access;
  const std::uint32_t version = detail::VersionOf<T>();
  if constexpr (traits::has_member_serialize<T, CerealLayout>::value) {
    access::member_serialize(*this, value);
  } else if constexpr (traits::has_member_versioned_serialize<T, CerealLayout>::value) {
    access::member_serialize(*this, value, version);
  } else if constexpr (traits::has_member_save<T, CerealLayout>::value) {
    access::member_save(*this, value);
  } else if constexpr (traits::has_member_versioned_save<T, CerealLayout>::value) {
    access::member_save(*this, value, version);
  } else if constexpr (traits::has_member_save_minimal<T, CerealLayout>::value) {
    (*this)(access::member_save_minimal(*this, value));
  } else if constexpr (traits::has_non_member_serialize<T, CerealLayout>::value) {
    CEREAL_SERIALIZE_FUNCTION_NAME(*this, value);
  } else if constexpr (traits::has_non_member_versioned_serialize<T, CerealLayout>::value) {
    CEREAL_SERIALIZE_FUNCTION_NAME(*this, value, version);
  } else if constexpr (traits::has_non_member_save<T, CerealLayout>::value) {
    CEREAL_SAVE_FUNCTION_NAME(*this, value);
  } else if constexpr (traits::has_non_member_versioned_save<T, CerealLayout>::value) {
    CEREAL_SAVE_FUNCTION_NAME(*this, value, version);
  }
}

template <class T>
void CerealLayout::DescribeElements() {
  if constexpr (detail::IsAtomic<T>) {
    Describe<typename T::value_type>();
  } else if constexpr (detail::IsComplex<T>) {
    words_ += "2*";
    Describe<typename T::value_type>();
  } else {
    if constexpr (detail::IsOptional<T>) words_ += '?';
    words_ += '[';
    Describe<typename T::value_type>();
    words_ += ']';
  }
}

template <class T>
void CerealLayout::Describe() {
  using Value = std::remove_cv_t<T>;
  if constexpr (std::is_array_v<Value>) {
    words_ += std::to_string(std::extent_v<Value>) + '*';
    Describe<std::remove_extent_t<Value>>();
  } else if constexpr (std::is_enum_v<Value>) {
    Describe<std::underlying_type_t<Value>>();
  } else if constexpr (std::is_arithmetic_v<Value>) {
    words_ += detail::WordOfNumber<Value>();
  } else if constexpr (detail::PackedAsItIs<Value> || std::is_same_v<Value, Charlist>) {
    words_ += core::TypeOf<Value>()->Name();
  } else if constexpr (detail::SavesItself<Value>) {
    if (!Enter<Value>()) return;
    if constexpr (std::is_default_constructible_v<Value>) {
      words_ += '{';
      Value value{};
      DescribeFields(value);
      words_ += '}';
    }
  } else if constexpr (detail::kIsVariant<Value>) {
    words_ += '<';
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      ((Describe<std::variant_alternative_t<kIndex, Value>>(), words_ += '|'), ...);
    }
    (std::make_index_sequence<std::variant_size_v<Value>>());
    words_ += '>';
  } else if constexpr (detail::HasSize<Value> && detail::HasElements<Value>) {  // an array
    words_ += std::to_string(std::tuple_size_v<Value>) + '*';
    Describe<typename Value::value_type>();
  } else if constexpr (detail::HasSize<Value>) {
    words_ += '(';
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      ((Describe<std::tuple_element_t<kIndex, Value>>(), words_ += ','), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Value>>());
    words_ += ')';
  } else if constexpr (detail::PointsToOne<Value>) {
    words_ += kPointer;
    if constexpr (detail::PointsAlone<Value>) words_ += '!';
    Describe<typename Value::element_type>();
  } else if constexpr (detail::HasElements<Value>) {
    DescribeElements<Value>();
  } else if constexpr (detail::SavedBeside<Value> && std::is_default_constructible_v<Value>) {
    if (!Enter<Value>()) return;
    words_ += '{';
    Value value{};
    DescribeFields(value);
    words_ += '}';
  } else {
    (void)Enter<Value>();
    is_bounded_ = false;
  }
}

}  // namespace ergon::dist
