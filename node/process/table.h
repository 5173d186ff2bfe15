// All slots of a node.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <ergon/core/foundations/sync.h>
#include <ergon/node/process/process.h>

namespace ergon::node {

// Slots stand in chunks that never move, so that finding one takes two loads and no lock.
class ProcessTable {
 public:
  static constexpr std::uint32_t kChunkSize = 512;
  static constexpr std::uint32_t kMaxChunks = 32'768;
  static constexpr std::uint32_t kMaxProcesses = kChunkSize * kMaxChunks;  // 16,777,216

  explicit ProcessTable(Runtime& runtime) : runtime_(runtime) {}
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // The slot that a PID's id names, or null if there is no such slot. Any thread.
  [[nodiscard]] Process* Find(std::uint64_t id) const noexcept {
    const std::uint32_t index = static_cast<std::uint32_t>(id);
    if (index / kChunkSize >= kMaxChunks) return nullptr;
    // Acquire; partner: Take, which makes the chunk.
    Process* chunk = chunks_[index / kChunkSize].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk + index % kChunkSize;
  }

  // A free slot, or null when there are kMaxProcesses. Any thread.
  [[nodiscard]] Process* Take();
  void Give(Process& process);

  // Calls visit(Process&) for every slot there is, used or not.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (std::uint32_t i = 0; i < kMaxChunks; ++i) {
      Process* chunk = chunks_[i].load(std::memory_order_acquire);
      if (chunk == nullptr) return;
      for (std::uint32_t k = 0; k < kChunkSize; ++k) visit(chunk[k]);
    }
  }

 private:
  Runtime& runtime_;
  core::SpinLock lock_;
  // Slots that have just become free rest for a while: a sender that was interrupted between its
  // look at the generation and its push should find a closed mailbox, not another process's, where
  // its message would be noticed only when its turn comes. A ring; 0: nobody.
  std::array<std::uint32_t, 256> resting_{};
  std::size_t next_resting_ = 0;
  std::vector<std::uint32_t> free_;  // newest last, so that warm slots are reused
  std::uint32_t chunk_count_ = 0;
  std::array<std::atomic<Process*>, kMaxChunks> chunks_{};
};

}  // namespace ergon::node
