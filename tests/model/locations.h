// What the explorer knows about the words that are atomics: a table by address, emptied for each
// execution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "explorer.h"

namespace ergon::model {

// How much of each thread's past happened before a point. A thread's own count grows with whatever
// it releases.
struct VectorClock {
  std::array<std::uint32_t, kMaxThreads> counts{};

  void Join(const VectorClock& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (other.counts[i] > counts[i]) counts[i] = other.counts[i];
    }
  }
};

struct Location {
  const void* address = nullptr;
  std::uint64_t execution = 0;  // the entry is free unless it is the current one
  int number = 0;               // for people, in the order of the first use
  std::uint32_t version = 0;    // grows when the value changes
  bool destroyed = false;
  VectorClock released;                           // what who acquires from here gets
  std::array<std::uint32_t, kMaxThreads> used{};  // each thread's own count at its last use
};

class Locations {
 public:
  void Clear() {
    ++execution_;
    count_ = 0;
  }

  Location& At(const void* address) {
    std::size_t slot = (reinterpret_cast<std::uintptr_t>(address) >> 2) * 0x9e3779b97f4a7c15u >> 52;
    for (;; slot = (slot + 1) % kSize) {
      Location& location = table_[slot];
      if (location.execution != execution_) {
        if (++count_ > static_cast<int>(kSize) / 2) {
          std::fputs("model: too many atomics\n", stderr);
          std::abort();
        }
        location = Location{};
        location.address = address;
        location.execution = execution_;
        location.number = count_;
        return location;
      }
      if (location.address == address) return location;
    }
  }

 private:
  static constexpr std::size_t kSize = 4096;  // as the hash's 12 bits

  std::unique_ptr<Location[]> table_ = std::make_unique<Location[]>(kSize);
  std::uint64_t execution_ = 0;
  int count_ = 0;
};

}  // namespace ergon::model
