// A type whose values travel packed between two Ergon nodes, see <ergon/node/cereal.h>.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ergon/core/messages/envelope.h>

namespace ergon::dist {

class AtomBudget;

// How the values of a type are packed.
struct PackedType {
  std::uint32_t version = 0;  // CEREAL_CLASS_VERSION
  // A hash of the type's name and version and of those of all types known to be in it; if it is equal on both nodes,
  // they read each other's bytes.
  std::uint64_t fingerprint = 0;
  // True: the type itself limits how deep its values are, so reading one takes little stack, whoever has written it.
  bool is_bounded = false;
  // Both throw if the value or the bytes are wrong. `pack` appends.
  void (*pack)(std::string& out, const void* value) = nullptr;
  core::EnvelopePtr (*unpack)(std::string_view bytes, AtomBudget* atoms, std::uint8_t kind,
                              core::EnvelopeNumbers numbers) = nullptr;
};
// Returns a hash of a description in words; the same on all machines.
[[nodiscard]] std::uint64_t FingerprintOf(std::string_view words) noexcept;

}  // namespace ergon::dist
