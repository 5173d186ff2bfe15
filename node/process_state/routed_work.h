// What a worker tells its pool of the messages that came through it.
#pragma once

#include <atomic>

#include <ergon/core/foundations/single_writer_counter.h>
#include <ergon/gen/host/pool_host.h>

namespace ergon::node {

// Written by the one with the right to run the worker, but for the duty; read by any thread.
class RoutedWork {
 public:
  // Relaxed: the worker meets it with the first message that it was given afterwards.
  void SetDuty(gen::WorkerDuty duty) noexcept { duty_.store(duty, std::memory_order_relaxed); }
  [[nodiscard]] gen::WorkerDuty duty() const noexcept {
    return duty_.load(std::memory_order_relaxed);
  }

  // It begins with a message, which came through its pool or did not.
  void Begin(bool routed) noexcept {
    current_.store(routed, std::memory_order_release);  // partner: IsCurrent
  }
  // It has ended, uncounted.
  void End() noexcept { current_.store(false, std::memory_order_relaxed); }
  // It has ended: as far as the pool knows, it is done.
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
