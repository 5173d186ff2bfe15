// The archives that a type's serialize gets. Users read erlang/archive.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <ergon/core/messages/type_descriptor.h>
#include <ergon/node/erlang/codec/codec.h>
#include <ergon/node/erlang/codec/map_entries.h>

namespace ergon::dist {

class WriteArchive;

namespace detail {

template <class T>
struct NamedField {
  const char* name;
  T& value;
};

using core::detail::Tagged;

template <class T>
concept HasSerialize = std::is_class_v<T> && requires(T& value, WriteArchive& archive) {
  value.serialize(archive);
};
// Types with a serialize(Archive&, T&) beside the type.
template <class T>
concept HasFreeSerialize = std::is_class_v<T> && requires(T& value, WriteArchive& archive) {
  serialize(archive, value);
};
// Types without fields, whose tag says everything.
template <class T>
concept IsOnlyTag = Tagged<T> && std::is_empty_v<T> && !HasSerialize<T> && !HasFreeSerialize<T>;

template <class T>
concept Described = HasSerialize<T> || HasFreeSerialize<T> || IsOnlyTag<T>;

// A field with its name, as of dist::Field and CEREAL_NVP.
template <class T>
concept Named = !Described<T> && requires(const T& field) {
  { field.name } -> std::convertible_to<const char*>;
  field.value;
};

template <class T, class Archive>
void Serialize(T& value, Archive& archive) {
  if constexpr (HasSerialize<T>) {
    value.serialize(archive);
  } else if constexpr (HasFreeSerialize<T>) {
    serialize(archive, value);
  }
}

template <class T>
constexpr std::string_view TagOf() {
  if constexpr (Tagged<T>) {
    return T::kTag;
  } else {
    return {};
  }
}

// How a type looks on the wire.
struct TypeShape {
  std::string tag;                         // empty: a map
  std::size_t fields = 0;                  // how many
  std::vector<std::string> keys;           // of a map: the required ones
  std::vector<std::string> optional_keys;  // of a map: the others
  bool has_terms = false;                  // there is a dist::Term somewhere in it
};
struct Alternative {
  TypeShape shape;
  const std::type_info* type = nullptr;
};

// Calls VisitField(name, field) of the archive for each field that a serialize gives. `name` is null for a field
// without a name.
template <class Archive>
class FieldVisitor {
 public:
  template <class... Fields>
  Archive& operator()(Fields&&... fields) {
    (Visit(fields), ...);
    return static_cast<Archive&>(*this);
  }
  template <class FieldType>
  Archive& operator&(FieldType&& field) {
    return (*this)(field);
  }

 private:
  template <class FieldType>
  void Visit(FieldType& field) {
    auto& archive = static_cast<Archive&>(*this);
    if constexpr (Named<std::remove_cv_t<FieldType>>) {
      archive.VisitField(field.name, field.value);
    } else {
      archive.VisitField(nullptr, field);
    }
  }
};

}  // namespace detail

// Returns a field with the name that it has in a map and in texts of errors. The name has to outlive the
// call. In Erlang it becomes an atom, which is kept for ever: use names of the program, never a part of its data.
template <class T>
[[nodiscard]] detail::NamedField<T> Field(const char* name, T& value) {
  return {name, value};
}

// Writes fields.
class WriteArchive : public detail::FieldVisitor<WriteArchive> {
 public:
  using is_saving = std::true_type;  // as in cereal's archives
  using is_loading = std::false_type;

  // -- for the library --

  WriteArchive(detail::ValueWriter& writer, std::string_view tag);
  void Close();

  template <class T>
  void VisitField(const char* name, const T& value) {
    if (!Begin(name)) return;
    detail::Codec<T>::Write(writer_, value);
    End(name);
  }

 private:
  bool Begin(const char* name);
  void End(const char* name);

  detail::ValueWriter& writer_;
  const detail::Nesting nesting_;
  const std::string_view tag_;  // empty: a map
  std::size_t opened_ = 0;
  std::size_t count_ = 0;  // of the fields so far
};

// Reads fields.
class ReadArchive : public detail::FieldVisitor<ReadArchive> {
 public:
  using is_saving = std::false_type;
  using is_loading = std::true_type;

  // -- for the library --

  ReadArchive(detail::ValueReader& reader, std::string_view tag);
  bool Close();

  template <class T>
  void VisitField(const char* name, T& value) {
    static_assert(
        !std::is_const_v<T>,
        "serialize gives a field that is const: neither the function nor the field may be, "
        "for values are read into the fields");
    if constexpr (!std::is_const_v<T>) {
      const Found found = Begin(name, detail::Codec<T>::kMayBeMissing);
      if (found == Found::kAbsent) value = T{};
      if (found == Found::kValue && !detail::Codec<T>::Read(reader_, value)) Locate(name);
    }
  }

 private:
  enum class Found { kValue, kAbsent, kProblem };

  void EnterTagged();
  Found Begin(const char* name, bool may_be_missing);
  void Locate(const char* name);

  detail::ValueReader& reader_;
  const detail::Nesting nesting_;
  const std::string_view tag_;  // empty: a map
  const TermReader begin_;
  std::optional<detail::MapEntries> entries_;  // of a map
  std::size_t size_ = 0;                       // elements of a tuple, behind the tag
  std::size_t index_ = 0;                      // of the element that is next
  std::size_t count_ = 0;                      // of the fields so far
};

// Finds out which fields a type has.
class ShapeArchive : public detail::FieldVisitor<ShapeArchive> {
 public:
  using is_saving = std::true_type;
  using is_loading = std::false_type;

  // -- for the library --

  // `review` checks the types of the fields. If it is null, they are not checked.
  ShapeArchive(detail::TypeShape& shape, detail::TypeReview* review, const std::type_info& type)
      : shape_(shape), review_(review), type_(type) {}

  template <class T>
  void VisitField(const char* name, const T&) {
    Note(name, detail::Codec<T>::kMayBeMissing);
    if (review_ != nullptr) detail::Codec<T>::Describe(*review_);
  }

 private:
  // Notes a field. Throws std::logic_error if it needs a name and has none, or has the name of another field.
  void Note(const char* name, bool may_be_missing);

  detail::TypeShape& shape_;
  detail::TypeReview* const review_;
  const std::type_info& type_;
};

}  // namespace ergon::dist
