// A type whose values travel packed between two Ergon nodes. See <ergon/node/cereal.h>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/core/messages/envelope.h>

namespace ergon::dist {

class AtomBudget;

// What the bytes of a peer may bring.
struct ReadLimits {
  AtomBudget* atoms = nullptr;  // counts the atoms that are new to the program; null: any number
  std::size_t max_term_depth = 1000;  // Term::kUsualDepth
};

// How the values of a type are packed.
struct PackedType {
  std::uint32_t version = 0;  // CEREAL_CLASS_VERSION
  // A hash of the names and versions of the type and of all types that are known to be in it. If the hashes of two
  // nodes are equal, the nodes read each other's bytes.
  std::uint64_t fingerprint = 0;
  // True if the type itself limits how deep its values are. Then reading a value takes little stack, whoever has
  // written the value.
  bool is_bounded = false;
  // Both throw if the value or the bytes are wrong. `pack` appends.
  void (*pack)(std::string& out, const void* value) = nullptr;
  core::EnvelopePtr (*unpack)(std::string_view bytes, const ReadLimits& limits, std::uint8_t kind,
                              core::EnvelopeNumbers numbers) = nullptr;
};
// Returns a hash of a description in words. It is the same on all machines.
[[nodiscard]] std::uint64_t FingerprintOf(std::string_view words) noexcept;

}  // namespace ergon::dist
