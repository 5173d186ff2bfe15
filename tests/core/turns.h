// What the scheduling tests share: a deadline, conditions, and schedulables made of functions.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include <ergon/core/dispatcher.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/core/turns/worker.h>

#include <kit/eventually.h>

namespace ergon::core::testing {

using kit::kDeadline;
using kit::kSanitized;

inline constexpr std::int64_t kDeadlineNs = std::chrono::nanoseconds(kDeadline).count();

template <typename Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// As Eventually, where the other threads need only a moment: it does not give the processor away at once.
template <class Condition>
bool SpinUntil(Condition condition) {
  for (int spins = 0; spins < 200; ++spins) {
    if (condition()) return true;
    CpuPause();
  }
  return Eventually(condition);
}

// Races end after so much time, if they have not had all their rounds on a busy machine.
inline constexpr std::chrono::seconds kEnough(2);

// Each turn calls a function.
class Turn final : public Schedulable {
 public:
  explicit Turn(std::function<TurnEnd()> body) : body_(std::move(body)) {}
  TurnEnd RunTurn() override { return body_(); }

 private:
  std::function<TurnEnd()> body_;
};

// Has always more to do, until told to end.
class Endless final : public Schedulable {
 public:
  TurnEnd RunTurn() override {
    turns.fetch_add(1);
    for (int i = 0; i < 1000; ++i) CpuPause();
    return end.load() ? TurnEnd::kCompleted : TurnEnd::kYielded;
  }

  std::atomic<std::uint64_t> turns{0};
  std::atomic<bool> end{false};
};

// Runs a function in one turn, which may block in the middle.
class Task final : public Schedulable {
 public:
  Task(Dispatcher& dispatcher, std::function<void(Task&)> body)
      : dispatcher_(dispatcher), body_(std::move(body)) {}

  TurnEnd RunTurn() override {
    if (Fiber* fiber = std::exchange(parked_, nullptr)) {
      return Worker::Resume(*fiber);
    }
    body_(*this);
    return TurnEnd::kCompleted;
  }

  // Inside the body: parks until Wake has been called once. False if there is no stack.
  [[nodiscard]] bool Block() {
    return Worker::Park(
        [](void* context, Fiber& fiber, Fiber&) { static_cast<Task*>(context)->Parked(fiber); },
        this);
  }

  // Any thread; once for each Block.
  void Wake() {
    State seen = kRunning;
    if (state_.compare_exchange_strong(seen, kWoken)) return;
    state_.store(kRunning);
    dispatcher_.Schedule(*this);
  }

 private:
  enum State { kRunning, kParked, kWoken };

  void Parked(Fiber& fiber) {
    parked_ = &fiber;
    State seen = kRunning;
    if (state_.compare_exchange_strong(seen, kParked)) return;
    state_.store(kRunning);
    dispatcher_.Schedule(*this);
  }

  Dispatcher& dispatcher_;
  std::function<void(Task&)> body_;
  Fiber* parked_ = nullptr;
  std::atomic<State> state_{kRunning};
};

}  // namespace ergon::core::testing
