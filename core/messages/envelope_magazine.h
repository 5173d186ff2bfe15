// Some free blocks of one size, which a thread takes and gives as a whole.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ergon::core {

inline constexpr std::uint32_t kMagazineSize = 64;  // blocks

struct Magazine {
  Magazine* next = nullptr;
  std::uint32_t count = 0;
  void* blocks[kMagazineSize];
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
