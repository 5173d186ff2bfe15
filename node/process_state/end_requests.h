// Requests to a process to end, and how the process takes them.
#pragma once

#include <atomic>
#include <cstdint>

namespace ergon::node {

// Belongs to the slot: each request names the generation that it is for. Any thread.
class EndRequests {
 public:
  // -- those who ask --

  // Notes a kill, after its signal was pushed: so the process handles not even an urgent message before it. The slot
  // may have a later process that was killed, and that has taken its signal: that note stays.
  void NoteKilled(std::uint32_t generation) noexcept {
    Note(killed_, generation, std::memory_order_relaxed);
  }
  // Notes a request to stop after what waits in the mailbox. The slot may have a later process with such a request:
  // that one stays.
  void NoteStopAsked(std::uint32_t generation) noexcept {
    Note(stopping_, generation, std::memory_order_seq_cst);
  }

  [[nodiscard]] bool IsKilled(std::uint32_t generation) const noexcept {
    return killed_.load(std::memory_order_relaxed) == generation;
  }
  [[nodiscard]] bool IsAskedToStop(std::uint32_t generation) const noexcept {
    return stopping_.load(std::memory_order_seq_cst) == generation;
  }

  // How a process takes exit signals.
  struct ExitRule {
    bool traps = false;
    bool heeds = false;  // those that it traps end its waits
    friend bool operator==(const ExitRule&, const ExitRule&) = default;
    // Returns a number below 4 that no other rule has.
    [[nodiscard]] std::uint8_t Number() const noexcept {
      return static_cast<std::uint8_t>((traps ? 1 : 0) | (heeds ? 2 : 0));
    }
  };
  // Sequentially consistent, as are the two functions that change it; partner: ExitSignals::Deliver.
  [[nodiscard]] ExitRule RuleForExits() const noexcept {
    return {trap_exit_.load(std::memory_order_seq_cst),
            heeds_exits_.load(std::memory_order_seq_cst)};
  }

  // -- the process itself --

  // For a process that begins: what was noted for those before it is forgotten. Notes for these may still come. Relaxed,
  // as nobody has its PID yet: whoever gets that sees what was done before.
  void Begin(std::uint32_t generation) noexcept {
    killed_.store(generation - 1, std::memory_order_relaxed);
    stopping_.store(generation - 1, std::memory_order_relaxed);
    trap_exit_.store(false, std::memory_order_relaxed);
    heeds_exits_.store(false, std::memory_order_relaxed);
  }

  [[nodiscard]] bool TrapsExits() const noexcept {
    return trap_exit_.load(std::memory_order_relaxed);
  }
  void SetTrapExit(bool trap) noexcept { trap_exit_.store(trap, std::memory_order_seq_cst); }
  void SetHeedExits(bool heed) noexcept { heeds_exits_.store(heed, std::memory_order_seq_cst); }

 private:
  static void Note(std::atomic<std::uint32_t>& latest, std::uint32_t generation,
                   std::memory_order order) noexcept {
    std::uint32_t noted = latest.load(std::memory_order_relaxed);
    while (static_cast<std::int32_t>(generation - noted) > 0 &&
           !latest.compare_exchange_weak(noted, generation, order)) {
    }
  }

  std::atomic<std::uint32_t> killed_{0};
  std::atomic<std::uint32_t> stopping_{0};
  std::atomic<bool> trap_exit_{false};
  std::atomic<bool> heeds_exits_{false};
};

}  // namespace ergon::node
