// The archives for types that are packed with cereal. Users read cereal.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include <cereal/cereal.hpp>
#include <cereal/types/common.hpp>
#include <cereal/types/memory.hpp>

#include <ergon/node/erlang/codec/fields.h>
#include <ergon/node/erlang/codec/scalars.h>
#include <ergon/node/erlang/packed/packed.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

// Writes what cereal::PortableBinaryOutputArchive writes on a machine of today, but without a stream. It also writes
// the version of each value with virtual functions in front of the value.
class CerealWriter : public cereal::OutputArchive<CerealWriter, cereal::AllowEmptyClassElision>,
                     public detail::PackedOut {
 public:
  explicit CerealWriter(std::string& out) : OutputArchive(this), PackedOut(out) {
    Number(std::uint8_t{1});  // the lowest byte is the first
  }
};

class CerealReader : public cereal::InputArchive<CerealReader, cereal::AllowEmptyClassElision>,
                     public detail::PackedIn {
 public:
  CerealReader(std::string_view bytes, const ReadLimits& limits)
      : InputArchive(this), PackedIn(bytes, limits) {
    if (!Truth()) throw detail::PackedProblem("byte 0: numbers with their highest byte first");
  }
};

namespace detail {

template <class T>
inline constexpr bool kIsWrapper = false;  // of cereal's own, around a value
template <class T>
inline constexpr bool kIsWrapper<cereal::NameValuePair<T>> = true;
template <class T>
inline constexpr bool kIsWrapper<cereal::SizeTag<T>> = true;
template <class T>
inline constexpr bool kIsWrapper<cereal::BinaryData<T>> = true;
template <class T>
inline constexpr bool kIsWrapper<cereal::memory_detail::PtrWrapper<T>> = true;

// The type of the elements of cereal's binary data. T is a pointer or an array.
template <class T>
using ElementOf =
    std::remove_cv_t<std::remove_pointer_t<std::remove_all_extents_t<std::remove_reference_t<T>>>>;

template <class T>
inline constexpr bool kIsNested = std::is_class_v<T> && !kIsWrapper<T>;

template <class T>
concept PackedAsItIs =
    std::is_same_v<T, gen::Atom> || std::is_same_v<T, gen::PID> || std::is_same_v<T, gen::Ref> ||
    std::is_same_v<T, gen::Alias> || std::is_same_v<T, Reference> || std::is_same_v<T, Term>;

template <class T>
[[nodiscard]] std::uint32_t VersionOf() {
  return cereal::detail::Version<T>::version;
}

}  // namespace detail

// ---- functions that cereal calls, and finds beside the archives

template <class T>
void prologue(CerealWriter& out, const T&) {
  if constexpr (detail::kIsNested<T>) out.Enter();
  if constexpr (std::is_polymorphic_v<T>) out.Number(detail::VersionOf<T>());
}
template <class T>
void epilogue(CerealWriter& out, const T&) {
  if constexpr (detail::kIsNested<T>) out.Leave();
}
template <class T>
void prologue(CerealReader& in, const T&) {
  if constexpr (detail::kIsNested<T>) in.Enter();
  if constexpr (std::is_polymorphic_v<T>) {
    const auto version = in.Number<std::uint32_t>();
    if (version != detail::VersionOf<T>()) {
      detail::ThrowOtherVersion(typeid(T), detail::VersionOf<T>(), version);
    }
  }
}
template <class T>
void epilogue(CerealReader& in, const T&) {
  if constexpr (detail::kIsNested<T>) in.Leave();
}

template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& out, const T& value) { out.Number(value); }
template <class T>
requires std::is_arithmetic_v<T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = in.Truth();
  } else {
    value = in.template Number<T>();
  }
}

template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(CerealWriter& out, cereal::NameValuePair<T>& field) {
  out(field.value);
}
template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(CerealReader& in, cereal::NameValuePair<T>& field) {
  in(field.value);
}
template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(CerealWriter& out, cereal::SizeTag<T>& count) {
  out.Count(count.size);
}
template <class T>
void CEREAL_SERIALIZE_FUNCTION_NAME(CerealReader& in, cereal::SizeTag<T>& count) {
  count.size = in.Count();
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& out, const cereal::BinaryData<T>& data) {
  using Item = detail::ElementOf<T>;
  if constexpr (std::endian::native == std::endian::little || sizeof(Item) == 1) {
    out.Bytes(data.data, data.size);
  } else {
    const auto* const elements = static_cast<const Item*>(data.data);
    for (std::size_t i = 0; i < data.size / sizeof(Item); ++i) out.Number(elements[i]);
  }
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, cereal::BinaryData<T>& data) {
  using Item = detail::ElementOf<T>;
  const bool is_as_it_is = std::endian::native == std::endian::little || sizeof(Item) == 1;
  if constexpr (is_as_it_is && !std::is_same_v<Item, bool>) {
    const std::string_view bytes = in.TakeBytes(data.size);
    if (!bytes.empty()) std::memcpy(data.data, bytes.data(), bytes.size());
  } else {
    auto* const elements = static_cast<Item*>(data.data);
    for (std::size_t i = 0; i < data.size / sizeof(Item); ++i) in(elements[i]);
  }
}

template <detail::PackedAsItIs T>
void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& out, const T& value) {
  detail::Pack(out, value);
}
template <detail::PackedAsItIs T>
void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, T& value) {
  detail::Unpack(in, value);
}
inline void CEREAL_SAVE_FUNCTION_NAME(CerealWriter& out, const Charlist& value) {
  out.Text(value.text);
}
inline void CEREAL_LOAD_FUNCTION_NAME(CerealReader& in, Charlist& value) { value.text = in.Text(); }

namespace detail {
// Archives dist::Field. Only archives of cereal use this; the archives of erlang/codec/fields.h know dist::Field.
template <class Archive, class T>
requires(std::is_base_of_v<cereal::detail::OutputArchiveBase, Archive> ||
         std::is_base_of_v<cereal::detail::InputArchiveBase,
                           Archive>) void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive,
                                                                         NamedField<T>& field) {
  archive(field.value);
}
}  // namespace detail

}  // namespace ergon::dist

// So that values with virtual functions are written and read by their names.
CEREAL_REGISTER_ARCHIVE(ergon::dist::CerealWriter)
CEREAL_REGISTER_ARCHIVE(ergon::dist::CerealReader)
CEREAL_SETUP_ARCHIVE_TRAITS(ergon::dist::CerealReader, ergon::dist::CerealWriter)
