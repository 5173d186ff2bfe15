// The first bytes of terms in Erlang's external format.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ergon::dist {

// The tags of values, with the names of Erlang's documentation. A node with our flags gets no other tags.
enum class TermTag : std::uint8_t {
  kNewFloat = 70,
  kBitBinary = 77,
  kNewPid = 88,
  kNewPort = 89,
  kNewerReference = 90,
  kSmallInteger = 97,
  kInteger = 98,
  kFloat = 99,  // as a text, of old nodes
  kAtom = 100,  // Latin-1, as kSmallAtom
  kSmallTuple = 104,
  kLargeTuple = 105,
  kNil = 106,
  kString = 107,  // a list of numbers up to 255
  kList = 108,
  kBinary = 109,
  kSmallBig = 110,
  kLargeBig = 111,
  kNewFunction = 112,
  kExport = 113,
  kSmallAtom = 115,
  kMap = 116,
  kAtomUtf8 = 118,
  kSmallAtomUtf8 = 119,
  kV4Port = 120,
};

inline constexpr std::size_t kMaxAtomCharacters = 255;
inline constexpr char kTermVersion = static_cast<char>(131);  // before a term that stands alone
inline constexpr std::size_t kOldFloatBytes = 31;             // behind kFloat

}  // namespace ergon::dist
