// All slots of a node.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/foundations/thread_stripe.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {

// What the slots of a table are: objects of a class that begins with a ProcessSlot.
struct SlotKind {
  std::size_t bytes;
  std::size_t alignment;
  // Returns the slot, which must be where the memory begins.
  ProcessSlot* (*make)(void* memory, std::uint32_t index, void* context);
  void (*destroy)(ProcessSlot& slot) noexcept;
  void* context;  // for `make`
};

// Slots stand in chunks that never move, so that finding one takes two loads and no lock.
class ProcessTable {
 public:
  static constexpr std::uint32_t kChunkSize = 512;
  static constexpr std::uint32_t kMaxChunks = 32'768;
  static constexpr std::uint32_t kMaxProcesses = kChunkSize * kMaxChunks;  // 16,777,216

  // `most_chunks`: at most kMaxChunks.
  explicit ProcessTable(const SlotKind& kind, std::uint32_t most_chunks = kMaxChunks)
      : kind_(kind), most_chunks_(most_chunks) {}
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // Returns the slot that a PID's id names, or null if there is no such slot. Any thread.
  [[nodiscard]] ProcessSlot* Find(std::uint64_t id) const noexcept {
    const std::uint32_t index = static_cast<std::uint32_t>(id);
    if (index / kChunkSize >= kMaxChunks) return nullptr;
    // Acquire; partner: TakeFree, which makes the chunk.
    std::byte* chunk = chunks_[index / kChunkSize].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : At(chunk, index % kChunkSize);
  }

  // Returns a free slot, or null when all there may be are in use: kMaxProcesses, without the two that nobody gets. Any
  // thread.
  [[nodiscard]] ProcessSlot* TakeFree();
  // Takes a slot back. Any thread.
  void Give(ProcessSlot& slot);

  // Calls visit(ProcessSlot&) for every slot there is, used or not.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (std::uint32_t i = 0; i < kMaxChunks; ++i) {
      std::byte* chunk = chunks_[i].load(std::memory_order_acquire);
      if (chunk == nullptr) return;
      for (std::uint32_t k = 0; k < kChunkSize; ++k) visit(*At(chunk, k));
    }
  }

 private:
  friend class DebuggerLayout;

  [[nodiscard]] ProcessSlot* At(std::byte* chunk, std::uint32_t place) const noexcept {
    return reinterpret_cast<ProcessSlot*>(chunk + place * kind_.bytes);
  }

  static constexpr std::uint32_t kRests = 256;
  static constexpr std::uint32_t kShelfHolds = 64;
  static constexpr std::uint32_t kMovedTogether = kShelfHolds / 2;
  static constexpr std::uint32_t kAhead =
      1;  // spawns between that which prefetches a slot and its own

  // The free slots of a thread, as far as there are enough shelves (core::ThreadStripe): what a spawn and
  // an end write, mostly, no other thread does. As the magazines of Bonwick and Adams (2001), of which most operations
  // touch nothing that is shared.
  struct alignas(64) Shelf {
    core::SpinLock lock;
    std::uint32_t free_count = 0;
    std::uint32_t next_resting = 0;
    std::array<std::uint32_t, kShelfHolds> free{};  // newest last, so that warm slots are reused
    // Slots that have just become free rest for a while: a sender that was interrupted between its look at the
    // generation and its push should find a closed mailbox, not another process's, where its message would be noticed
    // only when its turn comes. A ring; 0: no slot.
    std::array<std::uint32_t, kRests> resting{};
  };

  [[nodiscard]] Shelf& OwnShelf() noexcept;
  void Prefetch(const ProcessSlot& slot) const noexcept;
  // With the lock of the shelf: moves some slots from those of all threads to it; or, when it is full, back.
  void Fill(Shelf& shelf);
  void MakeRoom(Shelf& shelf);
  void MakeChunk();  // with lock_
  // Returns any slot that is not in use, wherever it is, also one that should rest; null: there is none.
  [[nodiscard]] ProcessSlot* TakeLast();
  [[nodiscard]] std::uint32_t FindLast();  // with all locks; 0: there is none
  [[nodiscard]] ProcessSlot* SlotAt(std::uint32_t index) const noexcept {
    return At(chunks_[index / kChunkSize].load(std::memory_order_relaxed), index % kChunkSize);
  }

  const SlotKind kind_;
  const std::uint32_t most_chunks_;
  // After the locks of shelves, which come in the order of their places.
  alignas(64) core::SpinLock lock_;
  std::vector<std::uint32_t> free_;  // newest last; on no shelf
  std::uint32_t chunk_count_ = 0;
  std::array<Shelf, core::ThreadStripe::kCount> shelves_;
  std::array<std::atomic<std::byte*>, kMaxChunks> chunks_{};
};

}  // namespace ergon::node
