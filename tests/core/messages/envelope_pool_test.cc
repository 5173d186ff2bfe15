#include <ergon/core/messages/envelope_pool.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/core/messages/envelope.h>

#include "turns.h"

namespace ergon::core::envelope_pool_test {
namespace {

using testing::Eventually;
using testing::kSanitized;

struct Block {
  void* memory = nullptr;
  std::uint8_t size_class = 0;
};

Block Allocate(std::size_t bytes) {
  Block block;
  block.memory = AllocateEnvelope(bytes, block.size_class);
  return block;
}

void Free(const Block& block) { FreeEnvelope(block.memory, block.size_class); }

// What a thread keeps returns to the depot when it ends, so that measurements do not depend on it.
template <class Body>
void InThread(Body body) {
  std::thread(std::move(body)).join();
}

TEST_CASE("envelope pool: every size, aligned, usable and apart from the others") {
  std::vector<std::pair<Block, std::size_t>> blocks;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t bytes = sizeof(Envelope); bytes <= 700; ++bytes) {
      const Block block = Allocate(bytes);
      REQUIRE(block.memory != nullptr);
      REQUIRE(reinterpret_cast<std::uintptr_t>(block.memory) % kEnvelopeAlignment == 0);
      std::memset(block.memory, static_cast<int>(bytes & 0xff), bytes);
      blocks.emplace_back(block, bytes);
    }
  }
  std::size_t damaged = 0;
  for (const auto& [block, bytes] : blocks) {
    const auto* content = static_cast<const unsigned char*>(block.memory);
    damaged += static_cast<std::size_t>(std::count_if(
        content, content + bytes, [&](unsigned char byte) { return byte != (bytes & 0xff); }));
    Free(block);
  }
  CHECK(damaged == 0);
}

TEST_CASE("envelope pool: size classes of 64 bytes up to 512, others from the heap") {
  if (kSanitized) return;
  for (std::size_t bytes = sizeof(Envelope); bytes <= 600; ++bytes) {
    const Block block = Allocate(bytes);
    CHECK(block.size_class == (bytes <= 512 ? (bytes + 63) / 64 : 0));
    Free(block);
  }
}

TEST_CASE("envelope pool: what was freed last is used first") {
  if (kSanitized) return;
  const Block first = Allocate(64);
  Free(first);
  const Block second = Allocate(60);
  CHECK(second.memory == first.memory);
  Free(second);
}

TEST_CASE("envelope pool: allocated here, freed there") {
  constexpr std::size_t kBlocks = kSanitized ? 50'000 : 1'000'000;
  constexpr std::size_t kPlaces = 1024;
  // A ring of one writer and one reader; the reader keeps some for a while, so that the order of
  // frees is not that of allocations.
  std::vector<std::atomic<void*>> ring(kPlaces);
  std::vector<std::uint8_t> classes(kPlaces);
  std::atomic<std::size_t> damaged{0};
  const std::size_t mapped_before = EnvelopePoolUsage().mapped_bytes;
  std::size_t mapped_most = 0;
  std::thread reader([&] {
    std::vector<Block> kept(100);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      std::atomic<void*>& place = ring[i % kPlaces];
      void* memory = nullptr;
      while ((memory = place.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
      const Block block{memory, classes[i % kPlaces]};
      std::size_t number = 0;
      std::memcpy(&number, memory, sizeof number);
      if (number != i) damaged.fetch_add(1);
      place.store(nullptr, std::memory_order_release);
      Block& keeper = kept[i * 7919 % kept.size()];
      if (keeper.memory != nullptr) Free(keeper);
      keeper = block;
    }
    for (const Block& block : kept) {
      if (block.memory != nullptr) Free(block);
    }
  });
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const Block block = Allocate(56 + i % 9 * 64);  // all classes and the heap
    std::memcpy(block.memory, &i, sizeof i);
    std::atomic<void*>& place = ring[i % kPlaces];
    while (place.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
    classes[i % kPlaces] = block.size_class;
    place.store(block.memory, std::memory_order_release);
    if (i % 10'000 == 0) mapped_most = std::max(mapped_most, EnvelopePoolUsage().mapped_bytes);
  }
  reader.join();
  CHECK(damaged == 0);
  // The blocks travel in one direction only; the pool must still not grow with their number.
  CHECK(mapped_most <= mapped_before + (16 << 20));
}

TEST_CASE("envelope pool: many threads, every block belongs to one at a time") {
  constexpr int kThreads = 4;
  constexpr int kRounds = kSanitized ? 5'000 : 200'000;
  constexpr std::size_t kShared = 512;
  std::vector<std::atomic<std::uint64_t*>> shared(kShared);
  std::atomic<int> damaged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t) + 1);
      for (int i = 0; i < kRounds; ++i) {
        std::uint8_t size_class = 0;
        auto* mine = static_cast<std::uint64_t*>(AllocateEnvelope(128, size_class));
        const std::uint64_t stamp = static_cast<std::uint64_t>(t) << 32 | static_cast<unsigned>(i);
        for (int k = 0; k < 15; ++k) mine[k] = stamp;
        mine[15] = size_class;
        // Swaps it against somebody's older one.
        std::uint64_t* other = shared[random() % kShared].exchange(mine);
        if (other == nullptr) continue;
        for (int k = 1; k < 15; ++k) {
          if (other[k] != other[0]) damaged.fetch_add(1);
        }
        FreeEnvelope(other, static_cast<std::uint8_t>(other[15]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& place : shared) {
    if (std::uint64_t* rest = place.load()) FreeEnvelope(rest, static_cast<std::uint8_t>(rest[15]));
  }
  CHECK(damaged == 0);
}

TEST_CASE("envelope pool: bursts that other threads free, every block belongs to one at a time") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 40;
  constexpr unsigned kMost =
      kSanitized ? 500 : 60'000;  // several times what a thread and the depot keep
  // What a thread has allocated in one round; the next thread that comes by checks and frees it.
  std::vector<std::vector<Block>> shared(3);
  std::mutex mutex;
  std::atomic<std::uint64_t> stamps{0};
  std::atomic<std::size_t> damaged{0};
  const auto check_and_free = [&damaged](const std::vector<Block>& blocks) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::uint64_t words[8];
      std::memcpy(words, blocks[i].memory, sizeof words);
      if (words[0] != i || std::count(words + 1, words + 8, words[1]) != 7) damaged.fetch_add(1);
      Free(blocks[i]);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t) + 1);
      for (int round = 0; round < kRounds; ++round) {
        std::vector<Block> blocks(random() % kMost);
        const std::size_t bytes = 64 * (1 + random() % 3);
        const std::uint64_t stamp = stamps.fetch_add(1);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
          blocks[i] = Allocate(bytes);
          const std::uint64_t words[8] = {i, stamp, stamp, stamp, stamp, stamp, stamp, stamp};
          std::memcpy(blocks[i].memory, words, sizeof words);
        }
        {
          std::lock_guard lock(mutex);
          blocks.swap(shared[random() % shared.size()]);
        }
        check_and_free(blocks);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Block>& blocks : shared) check_and_free(blocks);
  CHECK(stamps.load() == kThreads * kRounds);
  CHECK(damaged.load() == 0);
}

constexpr std::size_t kBurst = 1'000'000;
constexpr std::size_t kKept =
    8 << 20;  // the depot's free chunks, 4 MiB, and some that are not whole

std::vector<Block> Burst(std::size_t bytes) {
  std::vector<Block> blocks(kBurst);
  for (Block& block : blocks) block = Allocate(bytes);
  return blocks;
}

TEST_CASE("envelope pool: after a burst the memory returns, freed in order") {
  if (kSanitized) return;
  const std::size_t before = EnvelopePoolUsage().mapped_bytes;
  InThread([&] {
    std::vector<Block> blocks = Burst(64);
    CHECK(EnvelopePoolUsage().mapped_bytes >= kBurst * 64);
    for (const Block& block : blocks) Free(block);
    CHECK(EnvelopePoolUsage().mapped_bytes <= before + kKept);
  });
  CHECK(EnvelopePoolUsage().mapped_bytes <= before + kKept);
}

TEST_CASE("envelope pool: after a burst the memory returns, freed by another thread backwards") {
  if (kSanitized) return;
  const std::size_t before = EnvelopePoolUsage().mapped_bytes;
  std::vector<Block> blocks;
  InThread([&] { blocks = Burst(128); });
  CHECK(EnvelopePoolUsage().mapped_bytes >= kBurst * 128);
  InThread([&] {
    for (std::size_t i = blocks.size(); i-- > 0;) Free(blocks[i]);
  });
  CHECK(EnvelopePoolUsage().mapped_bytes <= before + kKept);
}

// Whether the memory of a burst stays. Not if a burst takes longer than its memory stays, or has mapped more than it
// has used.
bool Stays(EnvelopeReserve& reserve) {
  std::size_t full = 0;
  InThread([&] {
    const std::vector<Block> blocks = Burst(64);
    full = EnvelopePoolUsage().mapped_bytes;
    for (const Block& block : blocks) Free(block);
  });
  return reserve.Trim() && EnvelopePoolUsage().mapped_bytes == full;
}

TEST_CASE("envelope pool: with a reserve the memory of a burst stays for the next one") {
  if (kSanitized) return;
  const std::size_t before = EnvelopePoolUsage().mapped_bytes;
  EnvelopeReserve reserve;
  EnvelopeReserve other;
  const auto stays = [&] { return Stays(reserve); };
  CHECK_FALSE(stays());  // not open
  reserve.Open();
  CHECK_FALSE(reserve.CloseUnlessLast());
  CHECK(Eventually(stays));
  CHECK(Eventually([&] { return !reserve.Trim(); }));
  CHECK(EnvelopePoolUsage().reserved_bytes == 0);
  CHECK(EnvelopePoolUsage().mapped_bytes <= before + kKept);
  other.Open();
  CHECK(reserve.CloseUnlessLast());
  reserve.Close();
  CHECK(Eventually(stays));  // because of the other one
  other.Close();
  CHECK(EnvelopePoolUsage().reserved_bytes == 0);
  CHECK_FALSE(stays());
}

TEST_CASE("envelope pool: in a fork no reserve is open, and one from before may be closed") {
  if (kSanitized) return;
  EnvelopeReserve reserve;
  reserve.Open();
  LockEnvelopePool();
  UnlockEnvelopePoolInChild();  // as if this were the child
  CHECK_FALSE(Stays(reserve));
  reserve.Close();
  reserve.Open();
  CHECK(Eventually([&] { return Stays(reserve); }));
  reserve.Close();
  CHECK_FALSE(Stays(reserve));
}

TEST_CASE("envelope pool: reserves are opened and closed while others have bursts") {
  if (kSanitized) return;
  const std::size_t before = EnvelopePoolUsage().mapped_bytes;
  std::atomic<bool> done{false};
  std::thread bursts([&] {
    while (!done) {
      std::vector<Block> blocks(200'000);
      for (Block& block : blocks) block = Allocate(64);
      for (const Block& block : blocks) Free(block);
    }
  });
  std::vector<std::thread> owners;
  for (int i = 0; i < 2; ++i) {
    owners.emplace_back([] {
      for (int round = 0; round < 2'000; ++round) {
        EnvelopeReserve reserve;
        reserve.Open();
        if (round % 3 == 0) (void)reserve.Trim();
        if (round % 2 == 0) (void)reserve.CloseUnlessLast();
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  done = true;
  bursts.join();
  CHECK(EnvelopePoolUsage().reserved_bytes == 0);
  CHECK(EnvelopePoolUsage().mapped_bytes <= before + kKept);
}

TEST_CASE("envelope pool: a second burst finds the blocks of the first") {
  if (kSanitized) return;
  std::size_t after[3] = {};
  for (std::size_t& mapped : after) {
    InThread([&] {
      std::vector<Block> blocks = Burst(64);
      std::minstd_rand random(1);
      std::shuffle(blocks.begin(), blocks.end(), random);  // the worst order
      for (const Block& block : blocks) Free(block);
    });
    mapped = EnvelopePoolUsage().mapped_bytes;
  }
  MESSAGE("mapped after bursts freed at random: " << after[0] << " " << after[1] << " "
                                                  << after[2]);
  CHECK(after[2] <= after[0] + kKept);
}

TEST_CASE(
    "envelope pool: bursts lie in the order of addresses, whatever bursts there were before") {
  if (kSanitized) return;
  // What one thread and the depot keep in magazines, 512 KiB each, comes in any order.
  constexpr std::size_t kElsewhere = 2 * 512 * 1024 / 64;
  std::minstd_rand random(1);
  for (int burst = 0; burst < 4; ++burst) {
    InThread([&] {
      std::vector<Block> blocks = Burst(64);
      std::size_t side_by_side = 0;
      for (std::size_t i = 1; i < blocks.size(); ++i) {
        const auto before = reinterpret_cast<std::uintptr_t>(blocks[i - 1].memory);
        if (reinterpret_cast<std::uintptr_t>(blocks[i].memory) == before + 64) ++side_by_side;
      }
      // Where blocks lie elsewhere, they are missing between two others, too.
      CHECK(side_by_side >= kBurst - 3 * kElsewhere);
      std::shuffle(blocks.begin(), blocks.end(), random);
      for (const Block& block : blocks) Free(block);
    });
  }
}

TEST_CASE("envelope pool: before it sleeps, a thread gives back what it has gathered") {
  if (kSanitized) return;
  constexpr std::size_t kBlocks = 64 * 12;  // a thread that is awake keeps them all
  InThread([] {
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < kBlocks; ++i) blocks.push_back(Allocate(512));
    for (const Block& block : blocks) Free(block);
    const std::size_t before = EnvelopePoolUsage().depot_blocks;
    ReleaseIdleEnvelopes();
    const std::size_t given = EnvelopePoolUsage().depot_blocks - before;
    CHECK(given >= kBlocks - 3 * 64);
    ReleaseIdleEnvelopes();
    CHECK(EnvelopePoolUsage().depot_blocks == before + given);
  });
}

TEST_CASE("envelope pool: threads that end leave nothing behind") {
  if (kSanitized) return;
  InThread([] {});
  const std::size_t before = EnvelopePoolUsage().mapped_bytes;
  for (int i = 0; i < 300; ++i) {
    InThread([] {
      std::vector<Block> blocks;
      for (int k = 0; k < 1000; ++k) blocks.push_back(Allocate(256));
      for (const Block& block : blocks) Free(block);
    });
  }
  CHECK(EnvelopePoolUsage().mapped_bytes <= before + (1 << 20));
}

TEST_CASE("envelope pool: who allocates many and then frees them, again and again, needs nobody") {
  if (kSanitized) return;
  InThread([] {
    std::uint64_t visits[2] = {};
    for (std::uint64_t& after : visits) {
      for (int round = 0; round < 10; ++round) {
        std::vector<Block> blocks;
        for (int k = 0; k < 64 * 12; ++k) blocks.push_back(Allocate(512));
        for (const Block& block : blocks) Free(block);
      }
      after = EnvelopePoolUsage().depot_visits;
    }
    CHECK(visits[1] == visits[0]);
  });
}

TEST_CASE("envelope pool: who allocates and frees in turn needs nobody, wherever its arrays end") {
  if (kSanitized) return;
  InThread([] {
    std::vector<Block> held;
    for (int k = 0; k < 200; ++k) {  // more than three arrays
      held.push_back(Allocate(448));
      Free(Allocate(448));
      const std::uint64_t before = EnvelopePoolUsage().depot_visits;
      for (int i = 0; i < 100; ++i) {
        const Block one = Allocate(448);
        const Block other = Allocate(448);
        Free(one);
        Free(other);
      }
      // For a full array and an empty one that it has not had so far.
      CHECK(EnvelopePoolUsage().depot_visits <= before + 2);
    }
    for (const Block& block : held) Free(block);
  });
}

// Lives longer than what the pool keeps for a thread, or shorter, depending on who came first.
struct Late {
  ~Late() {
    if (kept.memory != nullptr) Free(kept);
    const Block block = Allocate(64);
    std::memset(block.memory, 1, 64);
    Free(block);
  }
  Block kept;
};

TEST_CASE("envelope pool: used by the destructors of thread-locals") {
  for (bool pool_first : {false, true}) {
    for (int i = 0; i < 50; ++i) {
      InThread([pool_first] {
        if (pool_first) Free(Allocate(64));
        thread_local Late late;
        late.kept = Allocate(64);
      });
    }
  }
}

TEST_CASE("envelope pool: usage tells what waits in the depot") {
  const EnvelopePoolStats stats = EnvelopePoolUsage();
  if (kSanitized) {
    CHECK(stats.mapped_bytes == 0);
    CHECK(stats.depot_blocks == 0);
    return;
  }
  InThread([] {
    std::vector<Block> blocks;
    for (int k = 0; k < 1000; ++k) blocks.push_back(Allocate(320));
    for (const Block& block : blocks) Free(block);
  });
  const EnvelopePoolStats now = EnvelopePoolUsage();
  CHECK(now.mapped_bytes > 0);
  CHECK(now.mapped_bytes % (256 * 1024) == 0);
  CHECK(now.depot_blocks > 0);
}

}  // namespace
}  // namespace ergon::core::envelope_pool_test
