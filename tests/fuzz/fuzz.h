// What every fuzz target uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// What a target defines: tries one input, and ends the program if a property does not hold.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ergon::fuzz {

inline std::string_view TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A property. The input that breaks it is named by whoever runs the target.
inline void Require(bool holds, std::string_view property) {
  if (holds) return;
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(property.size()), property.data());
  std::abort();
}

}  // namespace ergon::fuzz
