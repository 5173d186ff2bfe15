#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/node/process_state/table.h>

namespace ergon::node::table_test {

constexpr std::size_t kOfOneChunk = ProcessTable::kChunkSize - 2;  // 0 and 1 are nobody's

class Slot final : public ProcessSlot {
 public:
  explicit Slot(std::uint32_t index) : ProcessSlot(index) {}
  core::TurnEnd RunTurn() override { return core::TurnEnd::kIdle; }
  gen::Result<void> Open(const SpawnRequest&, std::unique_ptr<gen::ProcessBehavior>) override {
    return {};
  }
  void Abandon() override {}
  void AnswerAfterInit(std::uint64_t) override {}
  gen::LogLevel LineLevel() const override { return gen::LogLevel::kOff; }
  void WriteLine(gen::LogLevel, std::string_view) const override {}

  // Who has taken the slot writes it: the thread sanitizer says so if that is not ordered.
  int uses = 0;
};

std::unique_ptr<ProcessTable> MakeTable(std::uint32_t chunks) {
  return std::make_unique<ProcessTable>(
      SlotKind{.bytes = sizeof(Slot),
               .alignment = alignof(Slot),
               .make = [](void* memory, std::uint32_t index, void*) -> ProcessSlot* {
                 return new (memory) Slot(index);
               },
               .destroy = [](ProcessSlot& slot) noexcept { static_cast<Slot&>(slot).~Slot(); },
               .context = nullptr},
      chunks);
}

std::vector<ProcessSlot*> TakeAll(ProcessTable& table) {
  std::vector<ProcessSlot*> taken;
  while (ProcessSlot* const slot = table.TakeFree()) taken.push_back(slot);
  return taken;
}

TEST_CASE("process table: each slot once, found by its index, until there are no more") {
  const auto table = MakeTable(2);
  const std::vector<ProcessSlot*> all = TakeAll(*table);
  CHECK(all.size() == kOfOneChunk + ProcessTable::kChunkSize);
  std::set<std::uint32_t> indices;
  for (const ProcessSlot* slot : all) {
    indices.insert(slot->index());
    CHECK(table->Find(slot->index()) == slot);
  }
  CHECK(indices.size() == all.size());
  CHECK(*indices.begin() == 2);
  CHECK(table->TakeFree() == nullptr);
}

TEST_CASE("process table: a slot rests before it is used again, unless there is no other one") {
  const auto table = MakeTable(1);
  ProcessSlot* const first = table->TakeFree();
  table->Give(*first);
  const std::vector<ProcessSlot*> all = TakeAll(*table);
  CHECK(all.size() == kOfOneChunk);
  CHECK(all.back() == first);
}

TEST_CASE("process table: what one thread keeps for itself is there for another one") {
  const auto table = MakeTable(1);
  std::vector<ProcessSlot*> taken;
  std::thread([&] {
    for (int i = 0; i < 3; ++i) taken.push_back(table->TakeFree());
    for (ProcessSlot* slot : taken) table->Give(*slot);
  }).join();
  CHECK(TakeAll(*table).size() == kOfOneChunk);
}

TEST_CASE("process table: threads that take all of them get each once") {
  const auto table = MakeTable(1);
  std::array<std::vector<ProcessSlot*>, 4> taken;
  std::vector<std::thread> threads;
  for (auto& own : taken) threads.emplace_back([&] { own = TakeAll(*table); });
  for (std::thread& thread : threads) thread.join();
  std::set<const ProcessSlot*> all;
  std::size_t count = 0;
  for (const auto& own : taken) {
    count += own.size();
    all.insert(own.begin(), own.end());
  }
  CHECK(count == kOfOneChunk);
  CHECK(all.size() == kOfOneChunk);
}

// All slots come to rest on the shelves of the threads, so that nearly all takes look at all of these.
TEST_CASE("process table: nobody is refused while a slot is free, and no slot has two users") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kLeft = 4 * kThreads;
  const auto table = MakeTable(1);
  const std::vector<ProcessSlot*> all = TakeAll(*table);
  for (std::size_t i = 0; i < kLeft; ++i) table->Give(*all[i]);
  std::array<std::atomic<bool>, ProcessTable::kChunkSize> used{};
  std::atomic<int> refused{0};
  std::atomic<int> doubled{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round) {
        ProcessSlot* const slot = table->TakeFree();
        if (slot == nullptr) {
          ++refused;
          continue;
        }
        if (used[slot->index()].exchange(true, std::memory_order_relaxed)) ++doubled;
        ++static_cast<Slot*>(slot)->uses;
        used[slot->index()].store(false, std::memory_order_relaxed);
        table->Give(*slot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(refused == 0);
  CHECK(doubled == 0);
  CHECK(TakeAll(*table).size() == kLeft);
}

}  // namespace ergon::node::table_test
