#include <ergon/core/messages/envelope_pool.h>

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ergon/core/foundations/only_runtime.h>
#include <ergon/core/foundations/sanitizers.h>
#include <ergon/core/messages/envelope_depot.h>

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

void EnvelopeReserve::Open() noexcept {}
void EnvelopeReserve::Close() noexcept {}
bool EnvelopeReserve::CloseUnlessLast() noexcept { return true; }
bool EnvelopeReserve::Trim() noexcept { return false; }

void LockEnvelopePool() noexcept {}
void UnlockEnvelopePool() noexcept {}
void UnlockEnvelopePoolInChild() noexcept {}

EnvelopePoolStats EnvelopePoolUsage() { return {}; }

#else

namespace {

constexpr int kClasses = kEnvelopeClasses;
// In full magazines that a thread keeps for itself, per class: what a processor's second cache has room for.
constexpr std::size_t kLocalBytes = 512 * 1024;
constexpr std::size_t kMagazinesAsleep = 1;  // of these, while the thread sleeps

static_assert(MagazinesIn(kLocalBytes, kClasses) > 1, "half of them is kept");

// Never destroyed: threads may end, and free, after static destruction has begun.
Depot& DepotOf(std::size_t size_class) {
  alignas(Depot) static unsigned char storage[(kClasses + 1) * sizeof(Depot)];
  static Depot* const depots = [] {
    auto* first = reinterpret_cast<Depot*>(storage);
    for (int i = 0; i <= kClasses; ++i) new (first + i) Depot;
    return first;
  }();
  return depots[size_class];
}

// What a thread owns. Constant at first and trivially destroyed, so that access needs no initialisation guard.
struct ThreadCache {
  Magazine* current[kClasses + 1];
  MagazineList full[kClasses + 1];
  // Those that were full: they will be once more, when the thread frees what it has allocated. One
  // would do for a thread that allocates and frees in turn, where one magazine ends and the next begins (Bonwick and
  // Adams, "Magazines and Vmem", 2001, 3.1).
  MagazineList empty[kClasses + 1];
  bool registered;
  bool ended;
};
// At a fixed distance from the thread's own register: no call finds it, and a function that only reads and writes it
// saves no register.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache thread_cache{};
static_assert(std::is_trivially_destructible_v<ThreadCache>);

void DeleteEmpty(ThreadCache& cache, int size_class) {
  while (Magazine* const empty = cache.empty[size_class].Pop()) delete empty;
}

struct ThreadCacheReturner {
  ThreadCacheReturner() { thread_cache.registered = true; }
  ~ThreadCacheReturner() {
    thread_cache.ended = true;
    for (int i = 1; i <= kClasses; ++i) {
      MagazineList& full = thread_cache.full[i];
      if (Magazine* current = thread_cache.current[i]) full.Push(current);
      if (full.head != nullptr) DepotOf(i).GiveFull(full.head, i);
      DeleteEmpty(thread_cache, i);
      thread_cache.current[i] = nullptr;
      full = {};
    }
  }
};

__attribute__((noinline)) void RegisterThread() {
  thread_local ThreadCacheReturner returner;
  (void)returner;
}

__attribute__((noinline)) void* Refill(std::size_t size_class) {
  ThreadCache& cache = thread_cache;
  if (cache.ended) return DepotOf(size_class).TakeBlock(size_class);
  if (!cache.registered) RegisterThread();
  Magazine* magazine = cache.full[size_class].Pop();
  if (magazine != nullptr) {
    if (Magazine* const current = cache.current[size_class]) cache.empty[size_class].Push(current);
  } else {
    magazine = DepotOf(size_class).TakeFull(cache.current[size_class], size_class);
  }
  cache.current[size_class] = magazine;
  return magazine->Take();
}

// Gives all full magazines but the newest `kept`, whose blocks are warm, to the depot. There are more.
void KeepNewest(ThreadCache& cache, int size_class, std::size_t kept) {
  MagazineList& full = cache.full[size_class];
  Magazine* last_kept = full.head;
  for (std::size_t i = 1; i < kept; ++i) last_kept = last_kept->next;
  DepotOf(size_class).GiveFull(last_kept->next, size_class);
  last_kept->next = nullptr;
  full.count = kept;
}

__attribute__((noinline)) void Spill(void* block, std::size_t size_class) noexcept {
  if (size_class == 0) {  // of no class: it never has a magazine
    ::operator delete (block, std::align_val_t{kEnvelopeAlignment});
    return;
  }
  ThreadCache& cache = thread_cache;
  if (cache.ended) {  // freed by the destructor of another thread-local
    DepotOf(size_class).ReturnBlock(block);
    return;
  }
  if (!cache.registered) RegisterThread();
  Magazine* fresh = cache.empty[size_class].Pop();
  if (fresh == nullptr) {
    try {
      fresh = DepotOf(size_class).TakeEmpty();
    } catch (...) {  // no memory for a magazine
      DepotOf(size_class).ReturnBlock(block);
      return;
    }
  }
  if (Magazine* current = cache.current[size_class]) {
    const std::size_t most = MagazinesIn(kLocalBytes, size_class);
    if (cache.full[size_class].count >= most) KeepNewest(cache, size_class, most / 2);
    cache.full[size_class].Push(current);
  }
  cache.current[size_class] = fresh;
  fresh->Put(block);
}

}  // namespace

// Out of line on purpose, this and FreeEnvelope: a caller may move to another thread between two calls (fibers), so
// the address of the thread's cache must not be kept across them.
__attribute__((noinline)) void* AllocateEnvelopeOfClass(std::uint8_t size_class) {
  const std::size_t place = size_class;
  Magazine* magazine = thread_cache.current[place];
  if (magazine == nullptr || magazine->count() == 0) [[unlikely]]
    return Refill(place);
  return magazine->Take();
}

void* AllocateEnvelope(std::size_t bytes, std::uint8_t& size_class) {
  size_class = EnvelopeClassOf(bytes);
  if (size_class != 0) return AllocateEnvelopeOfClass(size_class);
  return ::operator new (bytes, std::align_val_t{kEnvelopeAlignment});
}

__attribute__((noinline)) void FreeEnvelope(void* memory, std::uint8_t size_class) noexcept {
  const std::size_t place = size_class;
  Magazine* magazine = thread_cache.current[place];
  if (magazine == nullptr || magazine->count() == kMagazineSize) [[unlikely]]
    return Spill(memory, place);
  magazine->Put(memory);
}

void ReleaseIdleEnvelopes() noexcept {
  ThreadCache& cache = thread_cache;
  for (int i = 1; i <= kClasses; ++i) {
    if (cache.full[i].count > kMagazinesAsleep) KeepNewest(cache, i, kMagazinesAsleep);
    DeleteEmpty(cache, i);
  }
}

void EnvelopeReserve::Open() noexcept {
  if (!std::exchange(is_open_, true)) open_reserves.fetch_add(1, std::memory_order_relaxed);
}

void EnvelopeReserve::Close() noexcept {
  if (!std::exchange(is_open_, false)) return;
  int open = open_reserves.load(std::memory_order_relaxed);
  // 0 in a fork, where it was opened before.
  while (open > 0 &&
         !open_reserves.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) {
  }
  if (open == 1) (void)Trim();
}

bool EnvelopeReserve::CloseUnlessLast() noexcept {
  int open = open_reserves.load(std::memory_order_relaxed);
  while (is_open_ && open > 1) {
    if (open_reserves.compare_exchange_weak(open, open - 1, std::memory_order_relaxed)) {
      is_open_ = false;
    }
  }
  return !is_open_;
}

bool EnvelopeReserve::Trim() noexcept {
  for (int i = 1; i <= kClasses; ++i) {
    while (DepotOf(i).TrimSome()) {
    }
  }
  return EnvelopePoolUsage().reserved_bytes != 0;
}

void LockEnvelopePool() noexcept {
  for (int i = 0; i <= kClasses; ++i) DepotOf(i).Lock();
}

void UnlockEnvelopePool() noexcept {
  for (int i = kClasses; i >= 0; --i) DepotOf(i).Unlock();
}

void UnlockEnvelopePoolInChild() noexcept {
  open_reserves.store(0, std::memory_order_relaxed);  // their owners' threads are not here
  UnlockEnvelopePool();
}

EnvelopePoolStats EnvelopePoolUsage() {
  EnvelopePoolStats stats;
  for (int i = 1; i <= kClasses; ++i) {
    const Depot::Usage usage = DepotOf(i).GetUsage();
    stats.mapped_bytes += usage.chunks * kChunkBytes;
    stats.reserved_bytes += usage.reserved_chunks * kChunkBytes;
    stats.depot_blocks += usage.full_magazines * kMagazineSize;
    stats.depot_visits += usage.visits;
  }
  return stats;
}

#endif

}  // namespace ergon::core
