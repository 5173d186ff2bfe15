#include <ergon/node/process_state/unique_id.h>

#include <array>
#include <atomic>
#include <random>

#include <ergon/core/foundations/mix.h>

namespace ergon::node {
namespace {

constexpr std::uint64_t kBlock = 65'536;
std::atomic<std::uint64_t> next_block{kBlock};  // low numbers mean something: gen::kExplicitExit

struct Block {
  std::uint64_t next;
  std::uint64_t end;
};
constinit thread_local Block block [[gnu::tls_model("initial-exec")]]{0, 0};

constexpr int kRounds = 4;
constexpr std::uint64_t kHalf = 0x7fff'ffff;  // 31 bits

std::array<std::uint64_t, kRounds> MakeKeys() {
  std::random_device random;
  std::array<std::uint64_t, kRounds> keys{};
  for (std::uint64_t& key : keys) key = std::uint64_t{random()} << 32 | random();
  return keys;
}

// A Feistel network over 62 bits: different ids stay different.
std::uint64_t Scramble(std::uint64_t id) {
  static const std::array<std::uint64_t, kRounds> keys = MakeKeys();
  std::uint64_t left = id >> 31 & kHalf;
  std::uint64_t right = id & kHalf;
  for (const std::uint64_t key : keys) {
    const std::uint64_t next = left ^ (core::Mix(right ^ key) & kHalf);
    left = right;
    right = next;
  }
  return left << 31 | right;
}

}  // namespace

// Out of line on purpose: the caller may be on another thread at the next call (fibers), so the
// block's address must not be kept.
__attribute__((noinline)) std::uint64_t NextUniqueId() {
  if (block.next == block.end) {
    block.next = next_block.fetch_add(kBlock, std::memory_order_relaxed);
    block.end = block.next + kBlock;
  }
  return block.next++;
}

std::uint64_t NextRequestId() { return kRequestIdBit | Scramble(NextUniqueId()); }

}  // namespace ergon::node
