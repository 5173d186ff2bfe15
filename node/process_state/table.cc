#include <ergon/node/process_state/table.h>

#include <mutex>
#include <new>

namespace ergon::node {

ProcessTable::~ProcessTable() {
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    std::byte* chunk = chunks_[i].load(std::memory_order_relaxed);
    for (std::uint32_t k = 0; k < kChunkSize; ++k) kind_.destroy(*At(chunk, k));
    ::operator delete (chunk, std::align_val_t{kind_.alignment});
  }
}

ProcessSlot* ProcessTable::TakeFree() {
  std::lock_guard lock(lock_);
  if (free_.empty()) {
    if (chunk_count_ == kMaxChunks) return nullptr;
    auto* chunk = static_cast<std::byte*>(
        ::operator new (kChunkSize* kind_.bytes, std::align_val_t{kind_.alignment}));
    const std::uint32_t first = chunk_count_ * kChunkSize;
    for (std::uint32_t i = 0; i < kChunkSize; ++i) {
      kind_.make(chunk + i * kind_.bytes, first + i, kind_.context);
    }
    // Slot 0 is nobody's: its PID would be the empty one. Slot 1 without a generation is the node.
    for (std::uint32_t i = kChunkSize; i-- > (first == 0 ? 2 : 0);) free_.push_back(first + i);
    // Release; partner: Find.
    chunks_[chunk_count_++].store(chunk, std::memory_order_release);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return At(chunks_[index / kChunkSize].load(std::memory_order_relaxed), index % kChunkSize);
}

void ProcessTable::Give(ProcessSlot& slot) {
  std::lock_guard lock(lock_);
  std::uint32_t& place = resting_[next_resting_++ % resting_.size()];
  if (place != 0) free_.push_back(place);
  place = slot.index();
}

}  // namespace ergon::node
