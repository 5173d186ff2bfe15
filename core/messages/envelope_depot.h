// The memory of one size of envelopes that all threads share: full magazines, and the chunks that blocks are cut from.
// The magazines that threads own, and how they get there, are in envelope_pool.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/messages/envelope_magazine.h>
#include <ergon/core/messages/envelope_sizes.h>

namespace ergon::core {

inline constexpr std::size_t kEmptyMagazines = 16;  // kept ready per class
inline constexpr std::size_t kChunkBytes = 256 * 1024;
inline constexpr std::size_t kDepotBytes =
    4 << 20;  // kept ready per class; more than this is given back
// A class with this many chunks gets further chunks from huge pages, several at once: the first touch of a small page
// costs more than everything else that is done for the messages on it.
inline constexpr std::size_t kSmallChunks = 8;
inline constexpr std::size_t kChunksAtOnce = 8;
inline constexpr std::size_t kHugePage = kChunksAtOnce * kChunkBytes;
inline constexpr std::size_t kSpareChunks = 8;  // free chunks that stay mapped per class

struct FreeBlock {
  FreeBlock* next;
};

// Stands at the start of its 256 KiB, which are aligned to their size. The chunk of a block is found by masking the
// address of the block.
struct Chunk {
  Chunk* next;  // in the class's list of chunks with free blocks
  Chunk* previous;
  FreeBlock* free;  // blocks that came back
  std::uint32_t free_count;
  std::uint32_t uncut;  // blocks at the end that were never given out
  std::uint32_t total;
  bool listed;
};
static_assert(sizeof(Chunk) <= kEnvelopeAlignment);

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
      while (magazine->count() > 0) ReturnToChunk(magazine->Take(), unmapper);
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
    const std::size_t block_bytes = kEnvelopeAlignment * static_cast<std::size_t>(size_class);
    if (with_free_ == nullptr) Grow(block_bytes);
    Chunk* chunk = with_free_;
    if (chunk->free_count == chunk->total) --spare_;
    while (magazine.count() < kMagazineSize && chunk->free != nullptr) {
      magazine.Put(chunk->free);
      chunk->free = chunk->free->next;
      --chunk->free_count;
    }
    // Highest address first into the array, so that allocation walks upwards.
    auto fresh = static_cast<std::uint32_t>(kMagazineSize - magazine.count());
    if (fresh > chunk->uncut) fresh = chunk->uncut;
    char* base = reinterpret_cast<char*>(chunk) + kEnvelopeAlignment;
    const std::uint32_t first = chunk->total - chunk->uncut;
    for (char* block = base + (first + fresh) * block_bytes; block != base + first * block_bytes;) {
      block -= block_bytes;
      magazine.Put(block);
    }
    chunk->uncut -= fresh;
    chunk->free_count -= fresh;
    if (chunk->free_count == 0) Unlist(chunk);
  }

  void ReturnToChunk(void* block, Unmapper& unmapper) {
    auto* chunk =
        reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(block) & ~(kChunkBytes - 1));
    auto* free = static_cast<FreeBlock*>(block);
    free->next = chunk->free;
    chunk->free = free;
    ++chunk->free_count;
    if (!chunk->listed) List(chunk);
    if (chunk->free_count == chunk->total && ++spare_ > kSpareChunks) {
      --spare_;
      --chunks_;
      Unlist(chunk);
      unmapper.Add(chunk);
    }
  }

  void Grow(std::size_t block_bytes) {
    const bool huge = chunks_ >= kSmallChunks;
    const std::size_t count = huge ? kChunksAtOnce : 1;
    char* const memory = MapAligned(count * kChunkBytes);
    if (huge) (void)madvise(memory, kHugePage, MADV_HUGEPAGE);  // small pages do as well
    // The chunk with the lowest address is used first.
    for (std::size_t i = count; i-- > 0;) {
      auto* chunk = new (memory + i * kChunkBytes) Chunk{};
      chunk->total = static_cast<std::uint32_t>((kChunkBytes - kEnvelopeAlignment) / block_bytes);
      chunk->uncut = chunk->total;
      chunk->free_count = chunk->total;
      List(chunk);
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
