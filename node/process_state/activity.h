// What a process does now, as others see it from outside: inspection, time-outs, the watchdog.
#pragma once

#include <atomic>
#include <cstdint>

#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/type_descriptor.h>
#include <ergon/gen/process_info.h>

namespace ergon::node {

// Stands for the continuation of a handler (gen::Status::Next) where otherwise the type of a message is.
struct Continuation {};

// How far the end of a process has come.
enum class EndStep : std::uint8_t {
  kNone,
  kRelationsClosed,  // nobody can link or monitor the process, or give it a name, any more
  kPidGone,  // the PID is no longer a process's; what the process left behind is answered and counted now
};

// Written by the thread with the right to run the process, read by any thread.
class Activity {
 public:
  // Returns a time of the clock in milliseconds modulo 2^32, for differences of up to 24 days.
  [[nodiscard]] static std::uint32_t Milliseconds(std::int64_t time) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(time) / 1'000'000);
  }

  [[nodiscard]] gen::ProcessState state() const noexcept {
    return static_cast<gen::ProcessState>(state_.load(std::memory_order_acquire));
  }
  // Returns whether the process handles a message, is suspended in a handler, or has given way in one (kReady here;
  // ProcessSlot::State finds other processes ready, too).
  [[nodiscard]] bool IsInHandler() const noexcept {
    const gen::ProcessState now = state();
    return now == gen::ProcessState::kRunning || now == gen::ProcessState::kWaiting ||
           now == gen::ProcessState::kReady;
  }
  // Returns the type of the message that the process handles, or handled last; null: a signal, or Init.
  [[nodiscard]] const core::TypeDescriptor* type() const noexcept {
    return type_.load(std::memory_order_relaxed);
  }
  // Returns whether the process handles, or handled last, the request with this id.
  [[nodiscard]] bool IsWith(std::uint64_t request) const noexcept {
    return ref_.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(request);
  }
  // Returns since when, in Milliseconds of the coarse clock; see also Worker::TurnTime.
  [[nodiscard]] std::uint32_t since() const noexcept {
    return since_.load(std::memory_order_relaxed);
  }

  // Returns whether Init has yet to succeed.
  [[nodiscard]] bool IsInInit() const noexcept { return in_init_.load(std::memory_order_acquire); }
  // Release; partner: IsInInit. Who finds that Init has succeeded finds what it has made.
  void SetInInit(bool in_init) noexcept { in_init_.store(in_init, std::memory_order_release); }

  void SetState(gen::ProcessState state,
                std::memory_order order = std::memory_order_relaxed) noexcept {
    state_.store(static_cast<std::uint8_t>(state), order);
  }
  // Sequentially consistent; see ProcessSlot::IsYetToEnd.
  [[nodiscard]] bool IsTerminating() const noexcept {
    return state_.load(std::memory_order_seq_cst) ==
           static_cast<std::uint8_t>(gen::ProcessState::kTerminating);
  }
  void NoteHandling(const core::Envelope& envelope) noexcept {
    ref_.store(static_cast<std::uint32_t>(envelope.ref), std::memory_order_relaxed);
    type_.store(envelope.type, std::memory_order_relaxed);
  }
  void NoteContinuation() noexcept {
    type_.store(core::TypeOf<Continuation>(), std::memory_order_relaxed);
  }
  void NoteNoMessage() noexcept { type_.store(nullptr, std::memory_order_relaxed); }
  void NoteTime(std::int64_t now) noexcept {
    since_.store(Milliseconds(now), std::memory_order_relaxed);
  }

 private:
  friend class DebuggerLayout;

  std::atomic<const core::TypeDescriptor*> type_{nullptr};
  std::atomic<std::uint32_t> ref_{0};  // the lower half of the ref: enough to distinguish it
  std::atomic<std::uint32_t> since_{0};
  std::atomic<std::uint8_t> state_{0};
  std::atomic<bool> in_init_{false};
};

}  // namespace ergon::node
