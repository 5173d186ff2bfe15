// A dispatcher without threads: its owner runs one turn after another, in an order of its choice. For simulation: the
// same choices make the same run.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ergon/core/dispatcher.h>
#include <ergon/core/turns/fiber_cache.h>

namespace ergon::core {

class Clock;

// Belongs to the thread that made it; a call from any other thread aborts with a message.
class SteppingDispatcher final : public Dispatcher {
 public:
  // Takes how many are ready (at least 1) and returns the index of the one to run next. They are numbered in the order
  // in which they became ready.
  using Order = std::function<std::size_t(std::size_t ready_count)>;
  // What a Wait calls, instead of RunOne, until it has what it waits for. It runs a turn, or makes something else
  // happen, such as letting time pass, at most until `until` (kNever: any time). Returns false if nothing is left that
  // could happen.
  using Driver = std::function<bool(std::int64_t until)>;

  // `clock` may be null: then WaitFor does not look at the time. The options `workers`, `turn_ns`, `turn_limit_ns`,
  // `search_ns` and `stealing` have no meaning here.
  SteppingDispatcher(Order order, Clock* clock, DispatcherOptions options = {});
  ~SteppingDispatcher() override;

  void SetDriver(Driver driver) { driver_ = std::move(driver); }
  // Sets how many messages the turns from now on may handle, 1..4096.
  void SetThroughput(int messages) { options_.throughput = messages; }

  // Runs one turn. Returns false if nothing is ready. Must not be called inside a turn.
  bool RunOne();
  // Runs turns until nothing is ready, at most `max_turns`. Returns how many it ran.
  std::size_t RunUntilIdle(std::size_t max_turns);

  std::size_t ready() const { return ready_.size(); }
  Clock* clock() const { return clock_; }

  bool Start(std::string* error) override;
  // Runs everything that is ready and everything that this makes ready, at most kMaxTurns.
  std::string Stop() override;
  void SignalStop() override;
  void Schedule(Schedulable& schedulable) override;
  // Run turns until the event is set. If nothing is left that could happen before that, nothing will ever set it: Wait
  // aborts with a message, and WaitFor returns false. WaitFor also returns false when its time of the clock is over.
  // After kMaxTurns, or as many steps of the driver, both abort with a message.
  void Wait(Event& event) override;
  bool WaitFor(Event& event, std::int64_t nanoseconds) override;
  bool HasThreads() const override { return false; }
  const char* name() const override { return "stepping"; }
  DispatcherStats Stats() const override;
  std::size_t ReadyApprox() const override { return ready_.size(); }

  static constexpr std::size_t kMaxTurns = 10'000'000;

 private:
  class StepWorker;

  void CheckThread(const char* call) const;

  const Order order_;
  Clock* const clock_;
  Driver driver_;
  const std::thread::id owner_;
  FiberPool fibers_;
  std::unique_ptr<StepWorker> worker_;
  std::vector<Schedulable*> ready_;
  bool stopped_ = false;
};

}  // namespace ergon::core
