#include <ergon/core/messages/envelope_pool.h>

#include <cstdint>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include <ergon/core/foundations/only_runtime.h>
#include <ergon/core/foundations/sanitizers.h>
#include <ergon/core/foundations/sync.h>

namespace ergon::core {

#if ERGON_ASAN || ERGON_TSAN

void* AllocateEnvelope(std::size_t bytes, std::uint8_t& size_class) {
  size_class = 0;
  return ::operator new (bytes, std::align_val_t{kEnvelopeAlignment});
}

void* AllocateEnvelopeOfClass(std::uint8_t size_class) {
  return ::operator new (size_class* kEnvelopeAlignment, std::align_val_t{kEnvelopeAlignment});
}

void FreeEnvelope(void* memory, std::uint8_t) noexcept {
  ::operator delete (memory, std::align_val_t{kEnvelopeAlignment});
}

void ReleaseIdleEnvelopes() noexcept {}

void LockEnvelopePool() noexcept {}
void UnlockEnvelopePool() noexcept {}

EnvelopePoolStats EnvelopePoolUsage() { return {}; }

#else

namespace {

constexpr int kClasses = kEnvelopeClasses;
constexpr std::uint32_t kMagazineSize = 64;  // blocks
constexpr int kLocalMagazines = 32;          // full ones that a thread keeps for itself, per class
constexpr int kMagazinesAsleep = 1;          // of these, while the thread sleeps
constexpr std::size_t kEmptyMagazines = 16;  // kept ready per class
constexpr std::size_t kChunkBytes = 256 * 1024;
constexpr std::size_t kDepotBytes = 4 << 20;  // kept ready per class; what is beyond is given back
// A class that has grown so far gets its chunks from huge pages, so many at once: the first touch of
// a small page costs more than all else that is done for the messages on it.
constexpr std::size_t kSmallChunks = 8;
constexpr std::size_t kChunksAtOnce = 8;
constexpr std::size_t kHugePage = kChunksAtOnce * kChunkBytes;
constexpr std::size_t kSpareChunks = 8;  // of free ones, kept mapped per class

struct FreeBlock {
  FreeBlock* next;
};

// Stands at the start of its 256 KiB, which are aligned to their size: a block finds its chunk by
// masking its address.
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

// What all threads share, per class.
class Depot {
 public:
  // A full (or, at the latest cut of a chunk, partly full) magazine in exchange for an empty one,
  // which may be null.
  Magazine* TakeFull(Magazine* empty, int size_class) {
    std::lock_guard lock(mutex_);
    if (Magazine* full = full_.Pop()) {
      if (empty != nullptr) KeepEmpty(empty);
      return full;
    }
    if (empty == nullptr) empty = TakeEmptyLocked();
    Cut(*empty, size_class);
    return empty;
  }

  // Takes `count` full magazines, linked by `next`. Excess goes back to the chunks.
  void GiveFull(Magazine* magazines, int size_class) {
    Unmapper unmapper;
    std::lock_guard lock(mutex_);
    const std::size_t limit = kDepotBytes / (kMagazineSize * kEnvelopeAlignment * size_class);
    while (magazines != nullptr) {
      Magazine* magazine = magazines;
      magazines = magazine->next;
      if (full_.count < limit && magazine->count == kMagazineSize) {
        full_.Push(magazine);
        continue;
      }
      for (std::uint32_t i = 0; i < magazine->count; ++i)
        ReturnToChunk(magazine->blocks[i], unmapper);
      magazine->count = 0;
      KeepEmpty(magazine);
    }
  }

  Magazine* TakeEmpty() {
    std::lock_guard lock(mutex_);
    return TakeEmptyLocked();
  }

  // For a thread that keeps none for itself any more.
  void* TakeBlock(int size_class) {
    Magazine* magazine = TakeFull(nullptr, size_class);
    void* const block = magazine->blocks[--magazine->count];
    magazine->next = nullptr;
    GiveFull(magazine, size_class);
    return block;
  }

  void ReturnBlock(void* block) {
    Unmapper unmapper;
    std::lock_guard lock(mutex_);
    ReturnToChunk(block, unmapper);
  }

  // For the time of a fork.
  void Lock() { mutex_.lock(); }
  void Unlock() { mutex_.unlock(); }

  void AddUsage(EnvelopePoolStats& stats) {
    std::lock_guard lock(mutex_);
    stats.mapped_bytes += chunks_ * kChunkBytes;
    stats.depot_blocks += full_.count * kMagazineSize;
  }

 private:
  // Unmaps when it ends, which has to be after the lock was released: it takes long.
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
    while (magazine.count < kMagazineSize && chunk->free != nullptr) {
      magazine.blocks[magazine.count++] = chunk->free;
      chunk->free = chunk->free->next;
      --chunk->free_count;
    }
    // Highest address first into the array, so that allocation walks upwards.
    std::uint32_t fresh = kMagazineSize - magazine.count;
    if (fresh > chunk->uncut) fresh = chunk->uncut;
    char* base = reinterpret_cast<char*>(chunk) + kEnvelopeAlignment;
    const std::uint32_t first = chunk->total - chunk->uncut;
    for (std::uint32_t i = fresh; i-- > 0;) {
      magazine.blocks[magazine.count++] = base + (first + i) * block_bytes;
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
    // The one with the lowest address is used first.
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

  // Aligned to its size, a power of two.
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
  Chunk* with_free_ = nullptr;
  std::size_t chunks_ = 0;
  std::size_t spare_ = 0;  // chunks without a block in use
};

// Never destroyed: threads may end, and free, after static destruction has begun.
Depot& DepotOf(int size_class) {
  alignas(Depot) static unsigned char storage[(kClasses + 1) * sizeof(Depot)];
  static Depot* const depots = [] {
    auto* first = reinterpret_cast<Depot*>(storage);
    for (int i = 0; i <= kClasses; ++i) new (first + i) Depot;
    return first;
  }();
  return depots[size_class];
}

// What a thread owns. Trivial, so that access needs no initialisation guard.
struct ThreadCache {
  Magazine* current[kClasses + 1];
  Magazine* full[kClasses + 1];  // linked by `next`
  int full_count[kClasses + 1];
  bool registered;
  bool ended;
};
// At a fixed distance from the thread's own register: no call finds it, and a function that only reads and writes it
// saves no register.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache thread_cache{};

struct ThreadCacheReturner {
  ThreadCacheReturner() { thread_cache.registered = true; }
  ~ThreadCacheReturner() {
    thread_cache.ended = true;
    for (int i = 1; i <= kClasses; ++i) {
      if (Magazine* current = thread_cache.current[i]) {
        current->next = thread_cache.full[i];
        thread_cache.full[i] = current;
      }
      if (thread_cache.full[i] != nullptr) DepotOf(i).GiveFull(thread_cache.full[i], i);
      thread_cache.current[i] = nullptr;
      thread_cache.full[i] = nullptr;
      thread_cache.full_count[i] = 0;
    }
  }
};

__attribute__((noinline)) void RegisterThread() {
  thread_local ThreadCacheReturner returner;
  (void)returner;
}

__attribute__((noinline)) void* Refill(int size_class) {
  ThreadCache& cache = thread_cache;
  if (cache.ended) return DepotOf(size_class).TakeBlock(size_class);
  if (!cache.registered) RegisterThread();
  Magazine* magazine = cache.full[size_class];
  if (magazine != nullptr) {
    cache.full[size_class] = magazine->next;
    --cache.full_count[size_class];
    delete cache.current[size_class];
  } else {
    magazine = DepotOf(size_class).TakeFull(cache.current[size_class], size_class);
  }
  cache.current[size_class] = magazine;
  return magazine->blocks[--magazine->count];
}

// Gives all full magazines but the newest `kept`, whose blocks are warm, to the depot. There are more.
void KeepNewest(ThreadCache& cache, int size_class, int kept) {
  Magazine* last_kept = cache.full[size_class];
  for (int i = 1; i < kept; ++i) last_kept = last_kept->next;
  DepotOf(size_class).GiveFull(last_kept->next, size_class);
  last_kept->next = nullptr;
  cache.full_count[size_class] = kept;
}

__attribute__((noinline)) void Spill(int size_class, void* block) {
  if (size_class == 0) {  // of no class: it never has a magazine
    ::operator delete (block, std::align_val_t{kEnvelopeAlignment});
    return;
  }
  ThreadCache& cache = thread_cache;
  Depot& depot = DepotOf(size_class);
  if (cache.ended) {  // freed by the destructor of another thread-local
    depot.ReturnBlock(block);
    return;
  }
  if (!cache.registered) RegisterThread();
  Magazine* fresh = depot.TakeEmpty();
  if (Magazine* current = cache.current[size_class]) {
    if (cache.full_count[size_class] == kLocalMagazines) {
      KeepNewest(cache, size_class, kLocalMagazines / 2);
    }
    current->next = cache.full[size_class];
    cache.full[size_class] = current;
    ++cache.full_count[size_class];
  }
  cache.current[size_class] = fresh;
  fresh->blocks[fresh->count++] = block;
}

}  // namespace

// Out of line on purpose, this and FreeEnvelope: a caller may move to another thread between two calls (fibers), so
// the address of the thread's cache must not be kept across them.
__attribute__((noinline)) void* AllocateEnvelopeOfClass(std::uint8_t size_class) {
  Magazine* magazine = thread_cache.current[size_class];
  if (magazine == nullptr || magazine->count == 0) [[unlikely]]
    return Refill(size_class);
  const std::uint32_t index = --magazine->count;
  if (index >= 4) __builtin_prefetch(magazine->blocks[index - 4], 1);
  return magazine->blocks[index];
}

void* AllocateEnvelope(std::size_t bytes, std::uint8_t& size_class) {
  size_class = EnvelopeClassOf(bytes);
  if (size_class != 0) return AllocateEnvelopeOfClass(size_class);
  return ::operator new (bytes, std::align_val_t{kEnvelopeAlignment});
}

__attribute__((noinline)) void FreeEnvelope(void* memory, std::uint8_t size_class) noexcept {
  Magazine* magazine = thread_cache.current[size_class];
  if (magazine == nullptr || magazine->count == kMagazineSize) [[unlikely]] {
    Spill(size_class, memory);
    return;
  }
  magazine->blocks[magazine->count++] = memory;
}

void ReleaseIdleEnvelopes() noexcept {
  ThreadCache& cache = thread_cache;
  for (int i = 1; i <= kClasses; ++i) {
    if (cache.full_count[i] > kMagazinesAsleep) KeepNewest(cache, i, kMagazinesAsleep);
  }
}

void LockEnvelopePool() noexcept {
  for (int i = 0; i <= kClasses; ++i) DepotOf(i).Lock();
}

void UnlockEnvelopePool() noexcept {
  for (int i = kClasses; i >= 0; --i) DepotOf(i).Unlock();
}

EnvelopePoolStats EnvelopePoolUsage() {
  EnvelopePoolStats stats;
  for (int i = 1; i <= kClasses; ++i) DepotOf(i).AddUsage(stats);
  return stats;
}

#endif

}  // namespace ergon::core
