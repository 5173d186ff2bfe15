// Memory from the system for chunks, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <sys/mman.h>

#include <ergon/core/messages/envelope_chunk.h>

namespace ergon::core {

// Maps memory that is aligned to its size, a power of two. `huge`: from huge pages of the system, if it has some.
inline char* MapAligned(std::size_t bytes, bool huge) {
  void* raw = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = (start + bytes - 1) & ~(bytes - 1);
  if (aligned > start) munmap(raw, aligned - start);
  const std::uintptr_t tail = start + bytes - aligned;
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  auto* const memory = reinterpret_cast<char*>(aligned);
  if (huge) (void)madvise(memory, bytes, MADV_HUGEPAGE);  // small pages do as well
  return memory;
}

// Unmaps its chunks when it is destroyed. That takes long, so it is destroyed after the lock was released.
class ChunkUnmapper {
 public:
  ChunkUnmapper() = default;
  ChunkUnmapper(const ChunkUnmapper&) = delete;
  ChunkUnmapper& operator=(const ChunkUnmapper&) = delete;
  ~ChunkUnmapper() {
    while (chunks_ != nullptr) {
      Chunk* const chunk = chunks_;
      chunks_ = chunk->next;
      munmap(chunk, kChunkBytes);
    }
  }
  void Add(Chunk* chunk) {
    chunk->next = chunks_;
    chunks_ = chunk;
  }

 private:
  Chunk* chunks_ = nullptr;
};

}  // namespace ergon::core
