// Who may still be spawned, and is found by those who end all processes.
#include <ergon/node/spawning/spawn_gate.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace ergon::node::spawn_gate_test {

TEST_CASE("spawn gate: places in order, none after it is closed, and all are counted") {
  SpawnGate gate;
  CHECK(gate.Enter().place == 0);
  CHECK(gate.Enter().place == 1);
  CHECK_FALSE(gate.IsClosed());
  gate.Close();
  gate.Close();
  CHECK(gate.IsClosed());
  CHECK(gate.count() == 2);
  CHECK_FALSE(gate.Enter().is_open);
  CHECK_FALSE(gate.Enter().is_open);
  CHECK(gate.count() == 4);
}

TEST_CASE("spawn gate: the log levels of behaviours, in each entry from then on") {
  SpawnGate gate;
  CHECK_FALSE(gate.Enter().has_levels);
  gate.NoteLevels();
  gate.NoteLevels();
  const SpawnGate::Entry entry = gate.Enter();
  CHECK(entry.has_levels);
  CHECK(entry.is_open);
  CHECK(entry.place == 1);
  gate.Close();
  CHECK(gate.Enter().has_levels);
  CHECK(gate.count() == 3);
}

// The thread sanitizer says so if the slots are not ordered by the gate.
TEST_CASE("spawn gate: who has closed sees all that was written by those that have a place") {
  constexpr std::size_t kThreads = 3;
  for (int round = 0; round < 100; ++round) {
    SpawnGate gate;
    std::array<int, kThreads> slots{};  // of each thread
    std::array<std::atomic<bool>, kThreads> has_place{};
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        while (ready != kThreads + 1) std::this_thread::yield();
        slots[i] = 1;
        if (gate.Enter().is_open) has_place[i].store(true, std::memory_order_relaxed);
      });
    }
    ++ready;
    while (ready != kThreads + 1) std::this_thread::yield();
    gate.Close();
    int missed = 0;
    for (std::size_t i = 0; i < kThreads; ++i) {
      if (has_place[i].load(std::memory_order_relaxed) && slots[i] != 1) ++missed;
    }
    for (auto& thread : threads) thread.join();
    CHECK(missed == 0);
    CHECK(gate.count() == kThreads);
  }
}

}  // namespace ergon::node::spawn_gate_test
