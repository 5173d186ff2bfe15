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
  // Of its name, its version, and those of all that is known to be in it: the same there means that it is read as it
  // was written.
  std::uint64_t fingerprint = 0;
  // How deep its values are, the type itself says: reading one takes little stack, whoever has written it.
  bool is_bounded = false;
  // Both throw what is wrong. `pack` appends.
  void (*pack)(std::string& out, const void* value) = nullptr;
  core::EnvelopePtr (*unpack)(std::string_view bytes, AtomBudget* atoms, std::uint8_t kind,
                              core::EnvelopeNumbers numbers) = nullptr;
};
// Of a description in words; the same on all machines.
[[nodiscard]] std::uint64_t FingerprintOf(std::string_view words) noexcept;

}  // namespace ergon::dist
