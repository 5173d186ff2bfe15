#include <ergon/node/process/table.h>

#include <memory>
#include <mutex>
#include <new>

namespace ergon::node {

// What an idle process costs is this, its behaviour (48 bytes for an actor) and a place among the free
// slots: not more than 400 bytes. What few processes need belongs into ProcessCold.
#ifdef NDEBUG
static_assert(sizeof(Process) <= 344);
#endif

ProcessTable::~ProcessTable() {
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    Process* chunk = chunks_[i].load(std::memory_order_relaxed);
    std::destroy_n(chunk, kChunkSize);
    ::operator delete (chunk, std::align_val_t{alignof(Process)});
  }
}

Process* ProcessTable::Take() {
  std::lock_guard lock(lock_);
  if (free_.empty()) {
    if (chunk_count_ == kMaxChunks) return nullptr;
    void* memory =
        ::operator new (kChunkSize * sizeof(Process), std::align_val_t{alignof(Process)});
    auto* chunk = static_cast<Process*>(memory);
    const std::uint32_t first = chunk_count_ * kChunkSize;
    for (std::uint32_t i = 0; i < kChunkSize; ++i) new (chunk + i) Process(runtime_, first + i);
    // Slot 0 is nobody's: its PID would be the empty one. Slot 1 without a generation is the node.
    for (std::uint32_t i = kChunkSize; i-- > (first == 0 ? 2 : 0);) free_.push_back(first + i);
    // Release; partner: Find.
    chunks_[chunk_count_++].store(chunk, std::memory_order_release);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return chunks_[index / kChunkSize].load(std::memory_order_relaxed) + index % kChunkSize;
}

void ProcessTable::Give(Process& process) {
  std::lock_guard lock(lock_);
  std::uint32_t& place = resting_[next_resting_++ % resting_.size()];
  if (place != 0) free_.push_back(place);
  place = process.index_;
}

}  // namespace ergon::node
