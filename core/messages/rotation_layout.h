// Where a debugger finds the receivers of a rotation.
#pragma once

#include <cstddef>

#include <ergon/core/messages/rotation.h>

namespace ergon::core {

// Offsets in bytes.
struct RotationLayout {
  static constexpr std::size_t kSize = offsetof(Rotation, size_);
  static constexpr std::size_t kArray = offsetof(Rotation, array_);
  static constexpr std::size_t kCapacity = offsetof(Rotation::Array, capacity);
  static constexpr std::size_t kEntries = offsetof(Rotation::Array, entries);
};

}  // namespace ergon::core
