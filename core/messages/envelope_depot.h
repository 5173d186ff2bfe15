// The memory of one size of envelopes that all threads share: full magazines, and the chunks that blocks are cut from.
// The magazines that threads own, and how they get there, are in envelope_pool.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/messages/envelope_chunk.h>
#include <ergon/core/messages/envelope_magazine.h>
#include <ergon/core/messages/envelope_sizes.h>

namespace ergon::core {

inline constexpr std::size_t kEmptyMagazines = 16;  // kept ready per class
// In full magazines, kept ready per class: as much as a thread keeps for itself. More than this goes back to its chunks:
// those give blocks out in the order of their addresses, magazines in that in which they came back.
inline constexpr std::size_t kDepotBytes = 512 * 1024;
// A class with this many chunks gets further chunks from huge pages, several at once: the first touch of a small page
// costs more than everything else that is done for the messages on it.
inline constexpr std::size_t kSmallChunks = 8;
inline constexpr std::size_t kChunksAtOnce = 8;
inline constexpr std::size_t kHugePage = kChunksAtOnce * kChunkBytes;
inline constexpr std::size_t kSpareChunks = 16;  // free chunks that stay mapped per class: 4 MiB

// Aligned, so that the depots of two sizes share no cache line.
class alignas(64) Depot {
 public:
  // Returns a full magazine, in exchange for an empty one, which may be null. At the last cut of a chunk the magazine
  // may be only partly full.
  Magazine* TakeFull(Magazine* empty, int size_class) {
    std::lock_guard lock(mutex_);
    ++visits_;
    if (Magazine* full = full_.Pop()) {
      if (empty != nullptr) KeepEmpty(empty);
      return full;
    }
    if (empty == nullptr) empty = TakeEmptyLocked();
    Cut(*empty, size_class);
    return empty;
  }

  // Takes full magazines, linked by `next`. Blocks beyond the limit of the depot go back to their chunks.
  void GiveFull(Magazine* magazines, int size_class) {
    Unmapper unmapper;
    std::lock_guard lock(mutex_);
    ++visits_;
    const std::size_t limit = kDepotBytes / (kMagazineSize * kEnvelopeAlignment * size_class);
    while (magazines != nullptr) {
      Magazine* magazine = magazines;
      magazines = magazine->next;
      if (full_.count < limit && magazine->count() == kMagazineSize) {
        full_.Push(magazine);
        continue;
      }
      while (magazine->count() > 0) ReturnToChunk(magazine->TakeBack(), unmapper);
      KeepEmpty(magazine);
    }
  }

  Magazine* TakeEmpty() {
    std::lock_guard lock(mutex_);
    ++visits_;
    return TakeEmptyLocked();
  }

  // Takes one block, for a thread that no longer keeps any for itself.
  void* TakeBlock(int size_class) {
    Magazine* magazine = TakeFull(nullptr, size_class);
    void* const block = magazine->Take();
    magazine->next = nullptr;
    GiveFull(magazine, size_class);
    return block;
  }

  void ReturnBlock(void* block) {
    Unmapper unmapper;
    std::lock_guard lock(mutex_);
    ++visits_;
    ReturnToChunk(block, unmapper);
  }

  // Lock and Unlock stand around a fork.
  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

  struct Usage {
    std::size_t chunks = 0;
    std::size_t full_magazines = 0;
    std::uint64_t visits = 0;  // how often threads have taken from here, or given
  };
  Usage GetUsage() {
    std::lock_guard lock(mutex_);
    return {.chunks = chunks_, .full_magazines = full_.count, .visits = visits_};
  }

 private:
  // Unmaps its chunks when it is destroyed. That takes long, so it is destroyed after the lock was released.
  class Unmapper {
   public:
    Unmapper() = default;
    Unmapper(const Unmapper&) = delete;
    Unmapper& operator=(const Unmapper&) = delete;
    ~Unmapper() {
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

  void KeepEmpty(Magazine* magazine) {
    if (empty_.count < kEmptyMagazines) {
      empty_.Push(magazine);
    } else {
      delete magazine;
    }
  }

  Magazine* TakeEmptyLocked() {
    if (Magazine* empty = empty_.Pop()) return empty;
    return new Magazine;
  }

  void Cut(Magazine& magazine, int size_class) {
    if (with_free_ == nullptr) Grow(size_class);
    Chunk* const chunk = with_free_;
    if (chunk->IsWhole()) --spare_;
    chunk->Cut(magazine);
    if (!chunk->HasFree()) Unlist(chunk);
  }

  void ReturnToChunk(void* block, Unmapper& unmapper) {
    Chunk* const chunk = Chunk::Of(block);
    chunk->Return(block);
    if (!chunk->listed) List(chunk);
    if (chunk->IsWhole() && ++spare_ > kSpareChunks) {
      --spare_;
      --chunks_;
      Unlist(chunk);
      unmapper.Add(chunk);
    }
  }

  void Grow(int size_class) {
    const bool huge = chunks_ >= kSmallChunks;
    const std::size_t count = huge ? kChunksAtOnce : 1;
    char* const memory = MapAligned(count * kChunkBytes);
    if (huge) (void)madvise(memory, kHugePage, MADV_HUGEPAGE);  // small pages do as well
    // The chunk with the lowest address is used first.
    for (std::size_t i = count; i-- > 0;) {
      List(new (memory + i * kChunkBytes) Chunk(size_class));
    }
    chunks_ += count;
    spare_ += count;
  }

  // Maps memory that is aligned to its size, a power of two.
  static char* MapAligned(std::size_t bytes) {
    void* raw = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) throw std::bad_alloc();
    const auto start = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t aligned = (start + bytes - 1) & ~(bytes - 1);
    if (aligned > start) munmap(raw, aligned - start);
    const std::uintptr_t tail = start + bytes - aligned;
    if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
    return reinterpret_cast<char*>(aligned);
  }

  void List(Chunk* chunk) {
    chunk->previous = nullptr;
    chunk->next = with_free_;
    if (with_free_ != nullptr) with_free_->previous = chunk;
    with_free_ = chunk;
    chunk->listed = true;
  }

  void Unlist(Chunk* chunk) {
    if (chunk->previous != nullptr) {
      chunk->previous->next = chunk->next;
    } else {
      with_free_ = chunk->next;
    }
    if (chunk->next != nullptr) chunk->next->previous = chunk->previous;
    chunk->listed = false;
  }

  SpinLock mutex_;
  MagazineList full_;
  MagazineList empty_;
  std::uint64_t visits_ = 0;
  Chunk* with_free_ = nullptr;
  std::size_t chunks_ = 0;
  std::size_t spare_ = 0;  // chunks without a block in use
};

}  // namespace ergon::core
