// The memory of one size of envelopes that all threads share: full magazines, and the chunks that blocks are cut from.
// The magazines that threads own, and how they get there, are in envelope_pool.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/recent_peak.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/core/messages/chunk_mapping.h>
#include <ergon/core/messages/envelope_chunk.h>
#include <ergon/core/messages/envelope_magazine.h>
#include <ergon/core/messages/envelope_sizes.h>

namespace ergon::core {

inline constexpr std::size_t kEmptyMagazines = 16;  // kept ready per class
// In full magazines, kept ready per class: as much as a thread keeps for itself. More than this goes back to its
// chunks: those give blocks out in the order of their addresses, magazines in that in which they came back.
inline constexpr std::size_t kDepotBytes = 512 * 1024;
// A class with this many chunks gets further chunks from huge pages, several at once: the first touch of a small page
// costs more than everything else that is done for the messages on it.
inline constexpr std::size_t kSmallChunks = 8;
inline constexpr std::size_t kChunksAtOnce = 8;  // a huge page
static_assert(kChunksAtOnce * kChunkBytes == std::size_t{2} << 20);
// So many free chunks of a class stay mapped, 4 MiB. With an EnvelopeReserve more stay, as long as free and used chunks
// together are no more than were in use lately.
inline constexpr std::size_t kSpareChunks = 16;
inline constexpr std::size_t kTrimmedAtOnce = 64;  // chunks, under the lock

// The reserves that are open in this program.
inline constinit std::atomic<int> open_reserves{0};

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
    if (with_free_ == nullptr) Grow(size_class);  // first: it throws if there is no memory
    if (empty == nullptr) empty = TakeEmptyLocked();
    Cut(*empty);
    return empty;
  }

  // Takes full magazines, linked by `next`. Blocks beyond the limit of the depot go back to their chunks.
  void GiveFull(Magazine* magazines, int size_class) {
    ChunkUnmapper unmapper;
    std::lock_guard lock(mutex_);
    ++visits_;
    const std::size_t limit = MagazinesIn(kDepotBytes, size_class);
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
    ChunkUnmapper unmapper;
    std::lock_guard lock(mutex_);
    ++visits_;
    ReturnToChunk(block, unmapper);
  }

  // Unmaps free chunks that do not stay, kTrimmedAtOnce at most. Returns whether there are more of those.
  bool TrimSome() {
    ChunkUnmapper unmapper;
    std::lock_guard lock(mutex_);
    const std::size_t more = MoreThanStay();
    std::size_t left = std::min(more, kTrimmedAtOnce);
    for (Chunk* chunk = with_free_; left > 0;) {
      Chunk* const next = chunk->next;
      if (chunk->IsWhole()) {
        Drop(chunk, unmapper);
        --left;
      }
      chunk = next;
    }
    return more > kTrimmedAtOnce;
  }

  // Lock and Unlock stand around a fork.
  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

  struct Usage {
    std::size_t chunks = 0;
    std::size_t reserved_chunks = 0;  // of these free, and beyond kSpareChunks
    std::size_t full_magazines = 0;
    std::uint64_t visits = 0;  // how often threads have taken from here, or given
  };
  Usage GetUsage() {
    std::lock_guard lock(mutex_);
    return {.chunks = chunks_,
            .reserved_chunks = spare_ - std::min(spare_, kSpareChunks),
            .full_magazines = full_.count,
            .visits = visits_};
  }

 private:
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

  // From a chunk with free blocks, which there must be.
  void Cut(Magazine& magazine) {
    Chunk* const chunk = with_free_;
    if (chunk->IsWhole()) AddSpare(-1);
    chunk->Cut(magazine);
    if (!chunk->HasFree()) Unlist(chunk);
  }

  void ReturnToChunk(void* block, ChunkUnmapper& unmapper) {
    Chunk* const chunk = Chunk::Of(block);
    chunk->Return(block);
    if (!chunk->listed) List(chunk);
    if (!chunk->IsWhole()) return;
    AddSpare(1);
    if (MoreThanStay() > 0) Drop(chunk, unmapper);
  }

  // Takes a free chunk out.
  void Drop(Chunk* chunk, ChunkUnmapper& unmapper) {
    --chunks_;
    AddSpare(-1);
    Unlist(chunk);
    unmapper.Add(chunk);
  }

  void AddSpare(std::ptrdiff_t chunks) {
    spare_ += chunks;
    in_use_.Note(chunks_ - spare_, SteadyCoarseNow());
  }

  // Returns how many free chunks there are beyond those that stay.
  std::size_t MoreThanStay() {
    std::size_t stay = kSpareChunks;
    if (open_reserves.load(std::memory_order_relaxed) > 0) {
      stay = std::max(stay, in_use_.Get(SteadyCoarseNow()) - (chunks_ - spare_));
    }
    return spare_ > stay ? spare_ - stay : 0;
  }

  void Grow(int size_class) {
    const bool huge = chunks_ >= kSmallChunks;
    const std::size_t count = huge ? kChunksAtOnce : 1;
    char* const memory = MapAligned(count * kChunkBytes, huge);
    // The chunk with the lowest address is used first.
    for (std::size_t i = count; i-- > 0;) {
      List(new (memory + i * kChunkBytes) Chunk(size_class));
    }
    chunks_ += count;
    AddSpare(static_cast<std::ptrdiff_t>(count));
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
  RecentPeak in_use_;      // the other chunks
};

}  // namespace ergon::core
