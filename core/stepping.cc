#include <utility>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/fatal.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/core/stepping.h>
#include <ergon/core/turns/worker.h>

namespace ergon::core {

class SteppingDispatcher::StepWorker final : public Worker {
 public:
  explicit StepWorker(SteppingDispatcher& dispatcher)
      : Worker(dispatcher, 0, dispatcher.fibers_, dispatcher.options().hooks.get()),
        owner_(dispatcher) {}

  static void Body(Fiber& self) noexcept { FiberBody(self); }

  bool running() const { return running_; }

  // Runs one turn, until it ends or parks.
  void Step(Schedulable& schedulable) {
    next_ = &schedulable;
    running_ = true;
    const bool had_stack = RunLoop();
    running_ = false;
    if (!had_stack) Fatal("SteppingDispatcher", "no memory for a stack");
  }

 private:
  Schedulable* Next() override { return std::exchange(next_, nullptr); }
  void Requeue(Schedulable& schedulable) override { owner_.ready_.push_back(&schedulable); }

  SteppingDispatcher& owner_;
  Schedulable* next_ = nullptr;
  bool running_ = false;
};

namespace {

DispatcherOptions WithOneWorker(DispatcherOptions options) {
  options.workers = 1;
  options.turn_ns = 0;  // the length of a turn must not depend on the machine
  options.turn_limit_ns = 0;
  return options;
}

}  // namespace

SteppingDispatcher::SteppingDispatcher(Order order, Clock* clock, DispatcherOptions options)
    : Dispatcher(WithOneWorker(std::move(options))),
      order_(std::move(order)),
      clock_(clock),
      owner_(std::this_thread::get_id()),
      fibers_(this->options().fiber_stack_bytes, &StepWorker::Body, this->options().fibers_cached),
      worker_(std::make_unique<StepWorker>(*this)) {}

SteppingDispatcher::~SteppingDispatcher() {
  if (worker_->running()) Fatal("SteppingDispatcher", "destroyed inside one of its own turns");
}

// A second thread would make runs differ, which is worse than no simulation at all.
void SteppingDispatcher::CheckThread(const char* call) const {
  if (std::this_thread::get_id() != owner_) {
    Fatal(call, "a stepping dispatcher belongs to the thread that made it");
  }
}

bool SteppingDispatcher::RunOne() {
  CheckThread("SteppingDispatcher::RunOne");
  if (worker_->running()) Fatal("SteppingDispatcher::RunOne", "called inside a turn");
  if (ready_.empty()) return false;
  const std::size_t index = order_(ready_.size());
  if (index >= ready_.size()) Fatal("SteppingDispatcher", "the order chose an index out of range");
  Schedulable* next = ready_[index];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(index));
  worker_->Step(*next);
  return true;
}

std::size_t SteppingDispatcher::RunUntilIdle(std::size_t max_turns) {
  std::size_t turns = 0;
  while (turns < max_turns && RunOne()) ++turns;
  return turns;
}

bool SteppingDispatcher::Start(std::string* error) {
  std::string problem = Validate(options());
  if (problem.empty() && stopped_) problem = kStartAfterStop;
  if (error != nullptr) *error = problem;
  return problem.empty();
}

std::string SteppingDispatcher::Stop() {
  CheckThread("SteppingDispatcher::Stop");
  if (worker_->running()) return kStopInsideTurn;
  if (stopped_) return "";
  RunUntilIdle(kMaxTurns);
  stopped_ = true;
  ready_.clear();
  return "";
}

// There is no thread to wake up; what is ready runs when the owner steps or stops.
void SteppingDispatcher::SignalStop() { CheckThread("SteppingDispatcher::SignalStop"); }

void SteppingDispatcher::Schedule(Schedulable& schedulable) {
  CheckThread("SteppingDispatcher::Schedule");
  if (!stopped_) ready_.push_back(&schedulable);
}

void SteppingDispatcher::Wait(Event& event) {
  if (!WaitFor(event, kNever)) {
    Fatal("SteppingDispatcher::Wait", "nothing is ready, so nothing will ever set the event");
  }
}

bool SteppingDispatcher::WaitFor(Event& event, std::int64_t nanoseconds) {
  const std::int64_t now = clock_ == nullptr ? 0 : clock_->Now();
  const std::int64_t until = nanoseconds > kNever - now ? kNever : now + nanoseconds;
  for (std::size_t turns = 0; !event.IsSet(); ++turns) {
    if (turns == kMaxTurns) {
      Fatal("SteppingDispatcher::Wait",
            "ten million steps, and the event is not set: something never comes to rest, as by "
            "SendEvery");
    }
    if (clock_ != nullptr && until != kNever && clock_->Now() >= until) return false;
    if (!(driver_ ? driver_(until) : RunOne())) return event.IsSet();
  }
  return true;
}

DispatcherStats SteppingDispatcher::Stats() const {
  DispatcherStats sum;
  worker_->AddTo(sum);
  return sum;
}

}  // namespace ergon::core
