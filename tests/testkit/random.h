// The one source of chance in a simulation.
#pragma once

#include <cstdint>

namespace ergon::testkit {

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Not one of
// the standard library's distributions, which give other numbers on other systems.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Returns a number of 0..bound-1; `bound` is at least 1.
  std::uint64_t Below(std::uint64_t bound) noexcept { return Next() % bound; }
  // Returns true with that probability, 0..1.
  bool Chance(double probability) noexcept {
    return probability > 0 && static_cast<double>(Next() >> 11) * 0x1.0p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace ergon::testkit
