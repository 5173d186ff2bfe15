// How far a worker is with the messages that came through its pool.
#pragma once

#include <atomic>

#include <ergon/core/foundations/single_writer_counter.h>
#include <ergon/gen/host/pool_host.h>

namespace ergon::node {

// Written by the thread with the right to run the worker, except the duty; read by any thread.
class RoutedWork {
 public:
  // Sets the duty. Relaxed: the worker sees it with the first message that it was given afterwards.
  void SetDuty(gen::WorkerDuty duty) noexcept { duty_.store(duty, std::memory_order_relaxed); }
  [[nodiscard]] gen::WorkerDuty duty() const noexcept {
    return duty_.load(std::memory_order_relaxed);
  }

  // Notes that the worker begins with a message. `routed`: the message came through its pool.
  void Begin(bool routed) noexcept {
    current_.store(routed, std::memory_order_release);  // partner: IsCurrent
  }
  // Notes that the worker is done with the message, without counting it.
  void End() noexcept { current_.store(false, std::memory_order_relaxed); }
  // Notes that the worker is done with the message, and counts it as handled for the pool.
  void EndHandled() noexcept {
    End();
    handled_.AddAndRelease();  // partner: Handled
  }
  void Reset() noexcept {
    End();
    handled_.Reset();
    SetDuty(gen::WorkerDuty::kNone);
  }

  [[nodiscard]] bool IsCurrent() const noexcept { return current_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t Handled() const noexcept { return handled_.Acquire(); }

 private:
  core::SingleWriterCounter handled_;
  std::atomic<bool> current_{false};
  std::atomic<gen::WorkerDuty> duty_{gen::WorkerDuty::kNone};
};

}  // namespace ergon::node
