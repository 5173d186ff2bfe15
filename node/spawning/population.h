// How many processes there are, and the last steps of each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include <ergon/core/dispatcher.h>
#include <ergon/core/foundations/thread_stripe.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/reason.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/process_state/slot.h>
#include <ergon/node/spawning/dedicated_dispatchers.h>
#include <ergon/node/spawning/departures.h>
#include <ergon/node/spawning/spawn_gate.h>

namespace ergon::node {

// Any thread.
class Population {
 public:
  // What it needs; all of it outlives this.
  Population(Addresses& addresses, Delivery& delivery, core::Dispatcher& shared_dispatcher,
             DedicatedDispatchers& dedicated_dispatchers)
      : addresses_(addresses),
        delivery_(delivery),
        shared_dispatcher_(shared_dispatcher),
        dedicated_dispatchers_(dedicated_dispatchers) {}

  // -- spawning --

  [[nodiscard]] SpawnGate& gate() noexcept { return gate_; }
  // Refuses spawns from outside of processes.
  void RefuseOutsiders() noexcept { refuses_outsiders_.store(true, std::memory_order_release); }
  void AcceptOutsiders() noexcept { refuses_outsiders_.store(false, std::memory_order_release); }
  [[nodiscard]] bool RefusesOutsiders() const noexcept {
    return refuses_outsiders_.load(std::memory_order_acquire);
  }

  // -- ends --

  // Does the last step of a process; its slot is free afterwards.
  void Leave(ProcessSlot& slot, core::Dispatcher& dispatcher, gen::PID pid);
  // Sets the function that is called with each process that ends from now on; null: none is called.
  void SetListener(std::function<void(gen::PID)> told);
  // Waits until all have ended, or until the deadline (Clock ns), and then returns false. One thread at a time.
  [[nodiscard]] bool WaitUntilEmpty(const core::Clock& clock, std::int64_t deadline);

  [[nodiscard]] std::uint64_t spawned() const noexcept { return gate_.count(); }

 private:
  Addresses& addresses_;
  Delivery& delivery_;
  core::Dispatcher& shared_dispatcher_;
  DedicatedDispatchers& dedicated_dispatchers_;
  alignas(64) SpawnGate gate_;  // each spawn writes it
  // They will touch nothing of the node's any more.
  Departures<core::ThreadStripe::kCount> departures_;
  // Read by each spawn or end, written seldom.
  std::atomic<bool> refuses_outsiders_{false};
  std::atomic<bool> has_listener_{false};
  std::mutex listener_mutex_;
  std::function<void(gen::PID)> listener_;  // guarded by listener_mutex_
};

}  // namespace ergon::node
