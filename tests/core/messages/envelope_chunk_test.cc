#include <ergon/core/messages/envelope_chunk.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::core::envelope_chunk_test {
namespace {

struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{kChunkBytes}); }
};

struct ChunkOf {
  explicit ChunkOf(int size_class)
      : memory(::operator new (kChunkBytes, std::align_val_t{kChunkBytes})),
        chunk(new (memory.get()) Chunk(size_class)) {}
  std::unique_ptr<void, AlignedDelete> memory;
  Chunk* chunk;

  // Returns the blocks of one cut, in the order in which a thread would allocate them.
  std::vector<std::byte*> Cut(std::size_t there_already = 0) const {
    Magazine magazine;
    for (std::size_t i = 0; i < there_already; ++i) magazine.Put(nullptr);
    chunk->Cut(magazine);
    std::vector<std::byte*> blocks;
    while (magazine.count() > there_already) {
      blocks.push_back(static_cast<std::byte*>(magazine.Take()));
    }
    return blocks;
  }
  std::vector<std::byte*> CutAll() const {
    std::vector<std::byte*> all;
    while (chunk->HasFree()) {
      const std::vector<std::byte*> blocks = Cut();
      REQUIRE(!blocks.empty());
      all.insert(all.end(), blocks.begin(), blocks.end());
    }
    return all;
  }
};

TEST_CASE("envelope chunk: blocks of each size fill it, and none overlaps another") {
  for (int size_class = 1; size_class <= static_cast<int>(kEnvelopeClasses); ++size_class) {
    const ChunkOf of(size_class);
    const std::size_t bytes = static_cast<std::size_t>(size_class) * kEnvelopeAlignment;
    auto* const begin = static_cast<std::byte*>(of.memory.get());
    CHECK(of.chunk->IsWhole());
    const std::vector<std::byte*> all = of.CutAll();
    CHECK(!of.chunk->HasFree());
    CHECK(all.size() == (kChunkBytes - (all.front() - begin)) / bytes);
    CHECK(all.front() >= begin + sizeof(Chunk));
    CHECK(all.front() < begin + sizeof(Chunk) + kEnvelopeAlignment);
    std::size_t misplaced = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] != all.front() + i * bytes) ++misplaced;
      if (Chunk::Of(all[i]) != of.chunk) ++misplaced;
    }
    CHECK(misplaced == 0);
  }
}

TEST_CASE("envelope chunk: a cut fills what room the magazine has") {
  const ChunkOf of(1);
  CHECK(of.Cut().size() == kMagazineSize);
  CHECK(of.Cut(60).size() == kMagazineSize - 60);
  CHECK(of.Cut(kMagazineSize).empty());
  CHECK(!of.chunk->IsWhole());
}

TEST_CASE("envelope chunk: what came back at random is given out in the order of addresses") {
  for (const int size_class : {1, 3, 8}) {
    const ChunkOf of(size_class);
    const std::vector<std::byte*> all = of.CutAll();
    std::vector<std::byte*> returned = all;
    std::minstd_rand random(7);
    for (int round = 0; round < 20; ++round) {
      // From one block to all of them.
      std::shuffle(returned.begin(), returned.end(), random);
      const std::size_t count = 1 + random() % returned.size();
      for (std::size_t i = 0; i < count; ++i) of.chunk->Return(returned[i]);
      CHECK(of.chunk->IsWhole() == (count == all.size()));
      std::vector<std::byte*> expected(returned.begin(),
                                       returned.begin() + static_cast<std::ptrdiff_t>(count));
      std::sort(expected.begin(), expected.end());
      CHECK(of.CutAll() == expected);
    }
    for (std::byte* block : all) of.chunk->Return(block);
    CHECK(of.chunk->IsWhole());
    CHECK(of.CutAll() == all);
  }
}

TEST_CASE("envelope chunk: a block that comes back between two cuts is the next one") {
  const ChunkOf of(1);
  const std::vector<std::byte*> first = of.Cut();
  const std::vector<std::byte*> second = of.Cut();
  CHECK(second.front() == first.back() + 64);
  of.chunk->Return(first[10]);
  of.chunk->Return(second[3]);
  const std::vector<std::byte*> third = of.Cut();
  CHECK(third[0] == first[10]);
  CHECK(third[1] == second[3]);
  CHECK(third[2] == second.back() + 64);
}

}  // namespace
}  // namespace ergon::core::envelope_chunk_test
