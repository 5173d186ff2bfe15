#include <ergon/node/unique_id.h>

#include <atomic>

namespace ergon::node {
namespace {

constexpr std::uint64_t kBlock = 65'536;
std::atomic<std::uint64_t> next_block{1};

struct Block {
  std::uint64_t next;
  std::uint64_t end;
};
constinit thread_local Block block{0, 0};

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

}  // namespace ergon::node
