// An array of free blocks of one size. Threads take and give it as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ergon/core/foundations/prefetch.h>
#include <ergon/core/messages/envelope_sizes.h>

namespace ergon::core {

inline constexpr std::uint32_t kMagazineSize = 64;  // blocks

// Returns how many full magazines of a class have so many bytes of blocks.
constexpr std::size_t MagazinesIn(std::size_t bytes, std::size_t size_class) {
  return bytes / (kMagazineSize * kEnvelopeAlignment * size_class);
}

// Its count is written for each block: nothing else is on that line.
class alignas(64) Magazine {
 public:
  Magazine() noexcept { std::fill_n(places_, kAhead, nullptr); }

  Magazine* next = nullptr;

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  // Removes and returns the block that was put last. The magazine must not be empty.
  [[nodiscard]] void* Take() noexcept {
    const std::size_t place = --count_;
    PrefetchToWrite(places_[place]);  // what is taken soon, and was written by another core last
    return places_[place + kAhead];
  }
  // Does what Take does, for who does not use the block soon.
  [[nodiscard]] void* TakeBack() noexcept { return places_[--count_ + kAhead]; }
  // Adds a block. The magazine must have room for it.
  void Put(void* block) noexcept { places_[count_++ + kAhead] = block; }
  // Adds that many blocks, for which the magazine must have room. The caller writes them where the result points, the
  // one that is taken first at the end.
  [[nodiscard]] void** PutMany(std::size_t count) noexcept {
    void** const places = places_ + count_ + kAhead;
    count_ += count;
    return places;
  }

 private:
  static constexpr std::size_t kAhead = 8;

  std::size_t count_ = 0;
  // The first kAhead places stay null, so that Take prefetches without a test.
  void* places_[kAhead + kMagazineSize];
};

struct MagazineList {
  Magazine* head = nullptr;
  std::size_t count = 0;
  void Push(Magazine* magazine) {
    magazine->next = head;
    head = magazine;
    ++count;
  }
  Magazine* Pop() {
    Magazine* magazine = head;
    if (magazine != nullptr) {
      head = magazine->next;
      --count;
    }
    return magazine;
  }
};

}  // namespace ergon::core
