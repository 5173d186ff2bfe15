// Memory that blocks of one size are cut from, and which of them are free.
//
// That stands in the chunk, as bits, and not in the free blocks. So a chunk gives its blocks out in the order of their
// addresses, however they came back: what is sent in one go stands side by side, and processors fetch it before it is
// asked for. A list through the free blocks would give them out in the order in which they came back, which is more
// and more at random the more often blocks come and go.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ergon/core/messages/envelope_magazine.h>
#include <ergon/core/messages/envelope_sizes.h>

namespace ergon::core {

inline constexpr std::size_t kChunkBytes = 256 * 1024;
inline constexpr std::size_t kChunkLines = kChunkBytes / kEnvelopeAlignment;
inline constexpr std::size_t kChunkHeadLines = 9;  // for the chunk itself

// Some of the blocks of a chunk.
struct ChunkBlocks {
  std::uint32_t count = 0;
  std::uint64_t bits[kChunkLines / 64] =
      {};  // one for each line of the chunk: a block begins there
};

// Returns all blocks of a chunk.
constexpr ChunkBlocks AllBlocksOf(std::size_t size_class) {
  ChunkBlocks all;
  for (std::size_t line = kChunkHeadLines; line + size_class <= kChunkLines; line += size_class) {
    all.bits[line / 64] |= std::uint64_t{1} << (line % 64);
    ++all.count;
  }
  return all;
}
inline constexpr auto kAllBlocks = [] {
  std::array<ChunkBlocks, kEnvelopeClasses + 1> all;
  for (std::size_t i = 1; i <= kEnvelopeClasses; ++i) all[i] = AllBlocksOf(i);
  return all;
}();

// Stands at the start of its 256 KiB, which are aligned to their size. One thread at a time.
class Chunk {
 public:
  // All blocks are free.
  explicit Chunk(int size_class) noexcept
      : blocks_(kAllBlocks[size_class].count), free_(kAllBlocks[size_class]) {}

  // Returns the chunk of a block, which masking the block's address tells.
  [[nodiscard]] static Chunk* Of(void* block) noexcept {
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::uintptr_t>(block) & ~(kChunkBytes - 1));
  }

  [[nodiscard]] bool HasFree() const noexcept { return free_.count != 0; }
  [[nodiscard]] bool IsWhole() const noexcept { return free_.count == blocks_; }

  // Moves free blocks to a magazine until it is full or none is left: those with the lowest addresses, of which the
  // lowest is taken first.
  void Cut(Magazine& magazine) noexcept {
    std::size_t left = std::min<std::size_t>(kMagazineSize - magazine.count(), free_.count);
    free_.count -= static_cast<std::uint32_t>(left);
    void** const places = magazine.PutMany(left);
    while (left > 0) {
      std::uint64_t bits = free_.bits[first_word_];
      for (; bits != 0 && left > 0; bits &= bits - 1) {
        const std::size_t line =
            first_word_ * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        places[--left] = reinterpret_cast<std::byte*>(this) + line * kEnvelopeAlignment;
      }
      free_.bits[first_word_] = bits;
      if (bits == 0) ++first_word_;
    }
  }

  // Takes a block of this chunk back.
  void Return(void* block) noexcept {
    const std::size_t line =
        (reinterpret_cast<std::uintptr_t>(block) & (kChunkBytes - 1)) / kEnvelopeAlignment;
    free_.bits[line / 64] |= std::uint64_t{1} << (line % 64);
    ++free_.count;
    first_word_ = std::min(first_word_, line / 64);
  }

  // The list of chunks with free blocks that the depot keeps.
  Chunk* next = nullptr;
  Chunk* previous = nullptr;
  bool listed = false;

 private:
  const std::uint32_t blocks_;
  std::size_t first_word_ = 0;  // no word before it has a bit
  ChunkBlocks free_;
};
static_assert(sizeof(Chunk) <= kChunkHeadLines * kEnvelopeAlignment);

}  // namespace ergon::core
