// All slots of a node.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ergon/core/foundations/sync.h>
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

  explicit ProcessTable(const SlotKind& kind) : kind_(kind) {}
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

  // Returns a free slot, or null when there are kMaxProcesses. Any thread.
  [[nodiscard]] ProcessSlot* TakeFree();
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

  const SlotKind kind_;
  core::SpinLock lock_;
  // Slots that have just become free rest for a while: a sender that was interrupted between its look at the generation
  // and its push should find a closed mailbox, not another process's, where its message would be noticed only when its
  // turn comes. A ring; 0: no slot.
  std::array<std::uint32_t, 256> resting_{};
  std::size_t next_resting_ = 0;
  std::vector<std::uint32_t> free_;  // newest last, so that warm slots are reused
  std::uint32_t chunk_count_ = 0;
  std::array<std::atomic<std::byte*>, kMaxChunks> chunks_{};
};

}  // namespace ergon::node
