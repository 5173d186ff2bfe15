#include "envelopes.h"

namespace ergon::model {
namespace {

constexpr int kBlocks = 32;  // of each thread, and of who is none

struct alignas(core::kEnvelopeAlignment) Block {
  unsigned char memory[4 * core::kEnvelopeAlignment];
};

struct Owner {
  std::array<Block, kBlocks> blocks;
  std::vector<Block*> free;
  int allocated = 0;
  int freed = 0;  // by this thread, whoever allocated it
};

std::array<Owner, kMaxThreads + 1> owners;

Owner& Mine() { return owners[static_cast<std::size_t>(hooks::CurrentThread() + 1)]; }

struct Use {
  hooks::PlainState state;  // who allocated it, looked into it, freed it
  bool live = false;
};

Use& UseOf(void* memory) {
  static std::array<std::array<Use, kBlocks>, kMaxThreads + 1> uses;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Block* const first = owners[i].blocks.data();
    const auto offset = static_cast<Block*>(memory) - first;
    if (offset >= 0 && offset < kBlocks) return uses[i][static_cast<std::size_t>(offset)];
  }
  std::abort();
}

}  // namespace

void ResetEnvelopes() {
  for (Owner& owner : owners) {
    owner.free.clear();
    for (Block& block : owner.blocks) owner.free.push_back(&block);
    owner.allocated = 0;
    owner.freed = 0;
  }
}

int LiveEnvelopes() {
  int live = 0;
  for (const Owner& owner : owners) live += owner.allocated - owner.freed;
  return live;
}

}  // namespace ergon::model

namespace ergon::core {

void* AllocateEnvelopeOfClass(std::uint8_t size_class) {
  std::uint8_t same = 0;
  return AllocateEnvelope(size_class * kEnvelopeAlignment, same);
}

void* AllocateEnvelope(std::size_t bytes, std::uint8_t& size_class) {
  size_class = 1;
  model::Owner& mine = model::Mine();
  if (mine.free.empty() || bytes > sizeof(model::Block)) std::abort();
  model::Block* block = mine.free.back();
  mine.free.pop_back();
  ++mine.allocated;
  // The pool orders this after the free, by its lock or because it was the same thread.
  model::Use& use = model::UseOf(block);
  use = {};
  use.live = true;
  model::hooks::WritePlain(use.state);
  return block;
}

void FreeEnvelope(void* memory, std::uint8_t) noexcept {
  model::Use& use = model::UseOf(memory);
  model::Check(use.live, "frees an envelope twice");
  model::hooks::WritePlain(use.state);
  use.live = false;
  std::memset(memory, 0xdd, sizeof(model::Block));
  model::Owner& mine = model::Mine();
  mine.free.push_back(static_cast<model::Block*>(memory));
  ++mine.freed;
}

}  // namespace ergon::core
