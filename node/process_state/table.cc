#include <ergon/node/process_state/table.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

namespace ergon::node {

ProcessTable::~ProcessTable() {
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    std::byte* chunk = chunks_[i].load(std::memory_order_relaxed);
    for (std::uint32_t k = 0; k < kChunkSize; ++k) kind_.destroy(*At(chunk, k));
    ::operator delete (chunk, std::align_val_t{kind_.alignment});
  }
}

ProcessTable::Shelf& ProcessTable::OwnShelf() noexcept {
  return shelves_[core::ThreadStripe::OfThisThread().index()];
}

// Who spawns very many processes would otherwise wait for the memory of each slot.
void ProcessTable::Prefetch(const ProcessSlot& slot) const noexcept {
  const auto* const memory = reinterpret_cast<const std::byte*>(&slot);
  for (std::size_t line = 0; line < kind_.bytes; line += 64) __builtin_prefetch(memory + line, 1);
}

ProcessSlot* ProcessTable::TakeFree() {
  Shelf& shelf = OwnShelf();
  {
    std::lock_guard lock(shelf.lock);
    if (shelf.free_count == 0) Fill(shelf);
    if (shelf.free_count != 0) {
      ProcessSlot* const slot = SlotAt(shelf.free[--shelf.free_count]);
      if (shelf.free_count > kAhead) Prefetch(*SlotAt(shelf.free[shelf.free_count - 1 - kAhead]));
      return slot;
    }
  }
  return TakeLast();
}

void ProcessTable::Give(ProcessSlot& slot) {
  Shelf& shelf = OwnShelf();
  std::lock_guard lock(shelf.lock);
  const std::uint32_t rested =
      std::exchange(shelf.resting[shelf.next_resting++ % kRests], slot.index());
  if (rested == 0) return;
  if (shelf.free_count == kShelfHolds) MakeRoom(shelf);
  shelf.free[shelf.free_count++] = rested;
}

void ProcessTable::Fill(Shelf& shelf) {
  std::lock_guard lock(lock_);
  if (free_.empty() && chunk_count_ != most_chunks_) MakeChunk();
  const auto count = std::min<std::ptrdiff_t>(kMovedTogether, std::ssize(free_));
  std::copy(free_.end() - count, free_.end(), shelf.free.begin());
  free_.resize(free_.size() - static_cast<std::size_t>(count));
  shelf.free_count = static_cast<std::uint32_t>(count);
}

// The oldest ones.
void ProcessTable::MakeRoom(Shelf& shelf) {
  std::lock_guard lock(lock_);
  free_.insert(free_.end(), shelf.free.begin(), shelf.free.begin() + kMovedTogether);
  std::copy(shelf.free.begin() + kMovedTogether, shelf.free.end(), shelf.free.begin());
  shelf.free_count -= kMovedTogether;
}

void ProcessTable::MakeChunk() {
  // First, and for all slots there are then: whoever gives one back has nothing to allocate.
  const std::size_t all = std::size_t{chunk_count_ + 1} * kChunkSize;
  if (free_.capacity() < all) free_.reserve(2 * all);
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

// With all locks at once nothing moves meanwhile: if nothing is found, all slots are in use.
ProcessSlot* ProcessTable::TakeLast() {
  for (Shelf& shelf : shelves_) shelf.lock.lock();
  lock_.lock();
  const std::uint32_t index = FindLast();
  lock_.unlock();
  for (Shelf& shelf : shelves_) shelf.lock.unlock();
  return index == 0 ? nullptr : SlotAt(index);
}

std::uint32_t ProcessTable::FindLast() {
  if (!free_.empty()) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  for (Shelf& shelf : shelves_) {
    if (shelf.free_count != 0) return shelf.free[--shelf.free_count];
  }
  for (Shelf& shelf : shelves_) {
    // The one that has rested longest.
    for (std::uint32_t i = 0; i < kRests; ++i) {
      std::uint32_t& place = shelf.resting[(shelf.next_resting + i) % kRests];
      if (place != 0) return std::exchange(place, 0);
    }
  }
  return 0;
}

}  // namespace ergon::node
