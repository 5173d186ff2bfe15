// How values of C++ look in Erlang. A type describes itself once, as for cereal, and the description
// serves both directions. A type with a tag is a tuple:
//
//   struct Count {                                    // {count, <<"to be or not to be">>}
//     static constexpr const char* kTag = "count";
//     std::string text;
//     template <class Archive>
//     void serialize(Archive& archive) { archive(text); }
//   };
//
// A type without a tag is a map, and its fields need names; CEREAL_NVP(price) gives a name, too:
//
//   struct Item {                                     // #{no => 7, price => 1.5}
//     int no = 0;
//     double price = 0;
//     template <class Archive>
//     void serialize(Archive& archive) {
//       archive(dist::Field("no", no), dist::Field("price", price));
//     }
//   };
//
// A serialize(Archive&, T&) beside the type is found as well. A type with a tag and without fields is
// the tag, an atom. A type has to be default constructible and movable.
//
//   bool                              true, false
//   integers, enumerations            integers, in the range of the type
//   double, float                     floats, which must be finite; an integer is read, too
//   std::string                       a binary; a charlist is read, too, as UTF-8
//   dist::Charlist                    a list of characters; a binary is read, too
//   gen::Atom                         an atom
//   gen::PID                          a pid
//   dist::Reference                   a reference; one of an Ergon node also as gen::Ref, gen::Alias
//   dist::Term                        anything
//   std::vector, list, deque, array,  a list
//     set, unordered_set
//   std::vector of std::byte and of   a binary; a list of numbers up to 255 is read, too
//     std::uint8_t
//   std::pair, tuple                  a tuple
//   std::map, unordered_map           a map
//   std::optional                     the value, or undefined (nil with ErlangOptions::absent); both
//                                     are read, and a key that is missing in a map
//   std::variant                      the value. Its types have tags, or are of different kinds.
//                                     A term that fits several types is read as the one that would
//                                     have written it, else as the first. If two have the same tag
//                                     and number of fields, or the same keys, a node that registers
//                                     the type does not start
//   std::monostate                    as an std::optional without a value
//
// Keys of a map that are not fields are ignored; a map with more than 10,000 entries does not fit. A term that does not
// fit is an error with the path of the field, as in "order.items[3].price: expected a number, found foo". Values may be
// nested 100 levels deep.
//
// When it writes, a serialize() runs in the process or thread that sends. When it reads, it runs on the node's
// thread of the network, for which all connections wait: it must not wait for a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/result.h>
#include <ergon/gen/wire_types.h>
#include <ergon/node/erlang/codec/alternatives.h>
#include <ergon/node/erlang/codec/containers.h>
#include <ergon/node/erlang/codec/fields.h>
#include <ergon/node/erlang/codec/scalars.h>
#include <ergon/node/erlang/packed_type.h>

namespace ergon::dist {
namespace detail {

// Returns the name of a type for texts: its tag, or its name without namespaces.
[[nodiscard]] std::string NameOf(std::string_view tag, const std::type_info& type);
template <class T>
[[nodiscard]] std::string NameOf() {
  return Described<T> ? NameOf(TagOf<T>(), typeid(T)) : std::string();
}
// Returns how well the next term fits: a tuple with the tag, or a map, which fits the better the more fields it has.
[[nodiscard]] int FitOfShape(TermReader next, const TypeShape& shape);

template <Described T>
void Inspect(TypeShape& shape, TypeReview* review) {
  shape.tag = TagOf<T>();
  T value{};
  ShapeArchive archive(shape, review, typeid(T));
  Serialize(value, archive);
}

// Returns the shape of a type. Throws std::logic_error, as ShapeArchive does. Any thread.
template <Described T>
const TypeShape& ShapeOf() {
  static const TypeShape shape = [] {
    TypeShape made;
    TypeReview review;
    review.Enter(typeid(T));
    Inspect<T>(made, &review);
    made.has_terms = review.has_terms();
    return made;
  }();
  return shape;
}

template <Described T>
struct Codec<T> : PlainCodec {
  static_assert(
      std::is_default_constructible_v<T>,
      "a type for other nodes must be default constructible: it is made before its fields "
      "are read");

  static void Write(ValueWriter& writer, const T& value) {
    WriteArchive archive(writer, TagOf<T>());
    // One function describes both directions, so it is not const; it changes nothing here.
    Serialize(const_cast<T&>(value), archive);
    archive.Close();
  }
  static bool Read(ValueReader& reader, T& value) {
    ReadArchive archive(reader, TagOf<T>());
    Serialize(value, archive);
    return archive.Close();
  }
  static int Fit(TermReader next) { return FitOfShape(next, ShapeOf<T>()); }
  static void Describe(TypeReview& review) {
    if (!review.Enter(typeid(T))) return;
    TypeShape shape;
    Inspect<T>(shape, &review);
  }
  static void AddAlternatives(std::vector<Alternative>& all) {
    Alternative& own = all.emplace_back();
    own.type = &typeid(T);
    Inspect<T>(own.shape, nullptr);
  }
};

// Appends a value, or nothing if there is an error.
template <class T>
gen::Result<void> WriteValue(std::string& out, const T& value, Absent absent = Absent::kUndefined) {
  const std::size_t begin = out.size();
  ValueWriter writer{TermWriter(out), absent};
  Codec<T>::Write(writer, value);
  if (!writer.problem.failed()) return {};
  out.resize(begin);
  return writer.problem.ToError(NameOf<T>());
}

// Reads the next term into a value. After an error the value must not be used.
template <class T>
gen::Result<void> ReadValue(TermReader term, T& value) {
  ValueReader reader{term};
  if (Codec<T>::Read(reader, value)) return {};
  return reader.problem.ToError(NameOf<T>());
}

}  // namespace detail

// Returns what is wrong with the description of a type. Call it in a catch (...).
[[nodiscard]] std::string DescriptionProblem(const std::type_info& type);

// A registered type, and how its values are written and read.
struct WireType {
  std::string problem;  // not empty: why it cannot be registered
  const core::TypeDescriptor* type = nullptr;
  std::string name;                        // as written in C++
  std::string tag;                         // of a tuple, or empty for a map
  std::size_t arity = 0;                   // of a tuple, with the tag
  std::vector<std::string> keys;           // of a map, those that have to be there
  std::vector<std::string> optional_keys;  // and those that need not
  bool has_terms = false;                  // there is a dist::Term somewhere in it
  gen::MessagePriority priority = gen::MessagePriority::kNormal;

  // Appends a value of that type. Returns kIncorrect, with the path of the field, if Erlang has no such value.
  gen::Result<void> (*write)(std::string& out, const void* value, Absent absent) = nullptr;
  // Makes an envelope with the value of the next term. Returns kIncorrect, with the path of the field, if the term does
  // not fit.
  gen::Result<core::EnvelopePtr> (*read)(TermReader term, std::uint8_t kind,
                                         core::EnvelopeNumbers numbers) = nullptr;
  // Of dist::Cereal (cereal.h), which has neither of these two.
  std::optional<PackedType> packed;
};

// What the descriptions of all types for other nodes have in common.
template <class T>
struct WireTypeBase {
  static_assert(
      std::is_default_constructible_v<T>,
      "a type for other nodes must be default constructible: it is made before its fields "
      "are read");
  static_assert(std::is_move_constructible_v<T>,
                "a type for other nodes must be movable, as messages are");

 protected:
  // Returns the description that `look` completes; what it throws is the problem of the description.
  template <class Look>
  static std::shared_ptr<WireType> Describe(const gen::WireTypeOptions& options, const Look& look) {
    auto type = std::make_shared<WireType>();
    type->priority = options.priority;
    type->type = core::TypeOf<T>();
    type->name = type->type->Name();
    try {
      look(*type);
    } catch (...) {
      type->problem = DescriptionProblem(typeid(T));
    }
    return type;
  }
};

// The part of gen::WireTypes::Register that knows Erlang.
template <class T>
struct WireTypeOf : private WireTypeBase<T> {
  static_assert(detail::Described<T>,
                "a type for other nodes needs a `template <class Archive> void serialize(Archive& "
                "archive)` that gives the archive its fields");

  // Makes a T and looks at its fields. The result has a problem, which names the type and the field, when a field of a
  // map has no name or one that another has, and when two types of a variant look the same to other nodes, also in the
  // types of its fields. Any thread.
  static std::shared_ptr<const WireType> Describe(const gen::WireTypeOptions& options = {}) {
    auto type = WireTypeBase<T>::Describe(options, [](WireType& described) {
      const detail::TypeShape& shape = detail::ShapeOf<T>();
      described.tag = shape.tag;
      described.arity = shape.fields + 1;
      described.keys = shape.keys;
      described.optional_keys = shape.optional_keys;
      described.has_terms = shape.has_terms;
    });
    type->write = [](std::string& out, const void* value, Absent absent) {
      return detail::WriteValue(out, *static_cast<const T*>(value), absent);
    };
    type->read = [](TermReader term, std::uint8_t kind,
                    core::EnvelopeNumbers numbers) -> gen::Result<core::EnvelopePtr> {
      core::EnvelopePtr envelope = core::MakeEnvelopeWith<T>(numbers, kind, core::Lane::kMain);
      auto read = detail::ReadValue(term, *static_cast<T*>(envelope->Value()));
      if (!read) return std::move(read.error());
      return envelope;
    };
    return type;
  }
};

}  // namespace ergon::dist
