// The first bytes of the terms that control tuples have, as numbers.
#pragma once

#include <cstdint>

#include <ergon/node/erlang/terms/tags.h>

namespace ergon::dist {

inline constexpr auto kVersionByte =
    static_cast<std::uint8_t>(kTermVersion);  // before every term that stands alone

inline constexpr auto kNewPidTag = static_cast<std::uint8_t>(TermTag::kNewPid);
inline constexpr auto kNewerReferenceTag = static_cast<std::uint8_t>(TermTag::kNewerReference);
inline constexpr auto kSmallIntegerTag = static_cast<std::uint8_t>(TermTag::kSmallInteger);
inline constexpr auto kIntegerTag = static_cast<std::uint8_t>(TermTag::kInteger);
inline constexpr auto kAtomTag = static_cast<std::uint8_t>(TermTag::kAtom);  // Latin-1
inline constexpr auto kSmallTupleTag = static_cast<std::uint8_t>(TermTag::kSmallTuple);
inline constexpr auto kEmptyListTag = static_cast<std::uint8_t>(TermTag::kNil);
inline constexpr auto kStringTag = static_cast<std::uint8_t>(TermTag::kString);
inline constexpr auto kListTag = static_cast<std::uint8_t>(TermTag::kList);
inline constexpr auto kSmallBigTag = static_cast<std::uint8_t>(TermTag::kSmallBig);
inline constexpr auto kSmallAtomTag = static_cast<std::uint8_t>(TermTag::kSmallAtom);  // Latin-1
inline constexpr auto kAtomUtf8Tag = static_cast<std::uint8_t>(TermTag::kAtomUtf8);
inline constexpr auto kSmallAtomUtf8Tag = static_cast<std::uint8_t>(TermTag::kSmallAtomUtf8);

}  // namespace ergon::dist
