// The bytes that terms begin with, as far as control tuples have them.
#pragma once

#include <cstdint>

namespace ergon::dist {

inline constexpr std::uint8_t kVersionByte = 131;  // before every term that stands alone

inline constexpr std::uint8_t kNewPidTag = 88;
inline constexpr std::uint8_t kNewerReferenceTag = 90;
inline constexpr std::uint8_t kSmallIntegerTag = 97;
inline constexpr std::uint8_t kIntegerTag = 98;
inline constexpr std::uint8_t kAtomTag = 100;  // Latin-1
inline constexpr std::uint8_t kSmallTupleTag = 104;
inline constexpr std::uint8_t kEmptyListTag = 106;
inline constexpr std::uint8_t kStringTag = 107;
inline constexpr std::uint8_t kListTag = 108;
inline constexpr std::uint8_t kSmallBigTag = 110;
inline constexpr std::uint8_t kSmallAtomTag = 115;  // Latin-1
inline constexpr std::uint8_t kAtomUtf8Tag = 118;
inline constexpr std::uint8_t kSmallAtomUtf8Tag = 119;

}  // namespace ergon::dist
