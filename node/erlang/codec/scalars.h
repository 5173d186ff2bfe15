// Values that contain no other values, as terms of Erlang.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <ergon/gen/alias.h>
#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/ref.h>
#include <ergon/node/erlang/codec/codec.h>
#include <ergon/node/erlang/terms/reference.h>

namespace ergon::dist {

// A text that is written as a list of its characters, as "abc" of Erlang. A std::string is written as a binary. Both
// types read both forms.
struct Charlist {
  std::string text;

  friend bool operator==(const Charlist&, const Charlist&) = default;
};

namespace detail {

bool ReadSigned(ValueReader& reader, std::int64_t lowest, std::int64_t highest,
                std::int64_t& value);
bool ReadUnsigned(ValueReader& reader, std::uint64_t highest, std::uint64_t& value);
int FitOfKind(TermReader next, TermKind well, TermKind too = TermKind::kNothing);
void WriteFloat(ValueWriter& writer, double value);
bool ReadFloat(ValueReader& reader, double highest, double& value);
// Reads a binary, or a list of characters.
bool ReadText(ValueReader& reader, std::string& text);
// Reads a binary, or a list of numbers up to 255.
bool ReadBytes(ValueReader& reader, std::string& bytes);
// Returns a reference of this program as a reference of Erlang.
[[nodiscard]] Reference ToReference(std::uint64_t id, gen::Atom node, std::uint32_t creation);
bool ReadIdentity(ValueReader& reader, std::uint64_t& id, gen::Atom& node, std::uint32_t& creation,
                  bool is_alias);

template <>
struct Codec<bool> : PlainCodec {
  static void Write(ValueWriter& writer, bool value) { writer.out.Boolean(value); }
  static bool Read(ValueReader& reader, bool& value) {
    return reader.in.ReadBoolean(value) || reader.Expected("true or false");
  }
  static int Fit(TermReader next) {
    return next.NextIsAtom("true") || next.NextIsAtom("false") ? kFitsWell : kFitsNot;
  }
};

template <std::signed_integral T>
struct Codec<T> : PlainCodec {
  static void Write(ValueWriter& writer, T value) { writer.out.Integer(value); }
  static bool Read(ValueReader& reader, T& value) {
    std::int64_t read = 0;
    if (!ReadSigned(reader, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), read)) {
      return false;
    }
    value = static_cast<T>(read);
    return true;
  }
  static int Fit(TermReader next) {
    std::int64_t read = 0;
    return next.ReadInteger(read) && read >= std::numeric_limits<T>::min() &&
                   read <= std::numeric_limits<T>::max()
               ? kFitsWell
               : kFitsNot;
  }
};

template <std::unsigned_integral T>
struct Codec<T> : PlainCodec {
  static void Write(ValueWriter& writer, T value) { writer.out.Unsigned(value); }
  static bool Read(ValueReader& reader, T& value) {
    std::uint64_t read = 0;
    if (!ReadUnsigned(reader, std::numeric_limits<T>::max(), read)) return false;
    value = static_cast<T>(read);
    return true;
  }
  static int Fit(TermReader next) {
    std::uint64_t read = 0;
    return next.ReadUnsigned(read) && read <= std::numeric_limits<T>::max() ? kFitsWell : kFitsNot;
  }
};

template <class T>
requires std::is_enum_v<T>
struct Codec<T> : PlainCodec {
  using Number = std::underlying_type_t<T>;
  static void Write(ValueWriter& writer, T value) {
    Codec<Number>::Write(writer, static_cast<Number>(value));
  }
  static bool Read(ValueReader& reader, T& value) {
    Number number{};
    if (!Codec<Number>::Read(reader, number)) return false;
    value = static_cast<T>(number);
    return true;
  }
  static int Fit(TermReader next) { return Codec<Number>::Fit(next); }
};

template <class T>
requires(std::is_same_v<T, double> || std::is_same_v<T, float>) struct Codec<T> : PlainCodec {
  static void Write(ValueWriter& writer, T value) { WriteFloat(writer, value); }
  static bool Read(ValueReader& reader, T& value) {
    double read = 0;
    if (!ReadFloat(reader, std::numeric_limits<T>::max(), read)) return false;
    value = static_cast<T>(read);
    return true;
  }
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kFloat, TermKind::kInteger); }
};

// -- texts and bytes

template <>
struct Codec<std::string> : PlainCodec {
  static void Write(ValueWriter& writer, const std::string& value) { writer.out.Binary(value); }
  static bool Read(ValueReader& reader, std::string& value) { return ReadText(reader, value); }
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kBinary, TermKind::kList); }
};

template <>
struct Codec<Charlist> : PlainCodec {
  static void Write(ValueWriter& writer, const Charlist& value) { writer.out.Charlist(value.text); }
  static bool Read(ValueReader& reader, Charlist& value) { return ReadText(reader, value.text); }
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kList, TermKind::kBinary); }
};

template <class T>
requires(std::is_same_v<T, std::byte> ||
         std::is_same_v<T, std::uint8_t>) struct Codec<std::vector<T>> : PlainCodec {
  static void Write(ValueWriter& writer, const std::vector<T>& value) {
    // C++ allows bytes of any type to be read as char.
    writer.out.Binary({reinterpret_cast<const char*>(value.data()), value.size()});
  }
  static bool Read(ValueReader& reader, std::vector<T>& value) {
    std::string bytes;
    if (!ReadBytes(reader, bytes)) return false;
    value.clear();
    value.reserve(bytes.size());
    for (const char byte : bytes) value.push_back(static_cast<T>(static_cast<unsigned char>(byte)));
    return true;
  }
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kBinary, TermKind::kList); }
};

// -- atoms and identifiers

template <>
struct Codec<gen::Atom> : PlainCodec {
  static void Write(ValueWriter& writer, gen::Atom value);
  static bool Read(ValueReader& reader, gen::Atom& value);
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kAtom); }
};

template <>
struct Codec<gen::PID> : PlainCodec {
  static void Write(ValueWriter& writer, const gen::PID& value);
  static bool Read(ValueReader& reader, gen::PID& value);
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kPid); }
};

template <>
struct Codec<Reference> : PlainCodec {
  static void Write(ValueWriter& writer, const Reference& value);
  static bool Read(ValueReader& reader, Reference& value);
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kReference); }
};

// References of Ergon nodes. A reference that Erlang has made does not fit.
template <class T>
requires(std::is_same_v<T, gen::Ref> || std::is_same_v<T, gen::Alias>) struct Codec<T>
    : PlainCodec {
  static void Write(ValueWriter& writer, const T& value) {
    Codec<Reference>::Write(writer, ToReference(value.id, value.node, value.creation));
  }
  static bool Read(ValueReader& reader, T& value) {
    return ReadIdentity(reader, value.id, value.node, value.creation,
                        std::is_same_v<T, gen::Alias>);
  }
  static int Fit(TermReader next) { return FitOfKind(next, TermKind::kReference); }
};

// No value, as undefined of Erlang or nil of Elixir.
template <>
struct Codec<std::monostate> : PlainCodec {
  static void Write(ValueWriter& writer, std::monostate) { writer.Nothing(); }
  static bool Read(ValueReader& reader, std::monostate&);
  static int Fit(TermReader next) { return IsAbsent(next) ? kFitsWell : kFitsNot; }
};

}  // namespace detail
}  // namespace ergon::dist
