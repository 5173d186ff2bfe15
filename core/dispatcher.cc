#include <algorithm>
#include <chrono>
#include <thread>

#include <ergon/core/dispatcher.h>
#include <ergon/core/foundations/number_text.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/core/queues/idle_workers.h>
#include <ergon/core/queues/injection_hold.h>

namespace ergon::core {
namespace {

int DefaultWorkers() {
  // A single worker has no other worker to take over what a turn that blocks leaves behind.
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 2, IdleWorkers::kMaxWorkers);
}

template <typename T>
std::string CheckRange(const char* field, T value, T min, T max) {
  if (value >= min && value <= max) return "";
  return std::string(field) + ": " + std::to_string(value) + " is outside " + std::to_string(min) +
         ".." + std::to_string(max);
}

std::string CheckTime(const char* field, std::int64_t nanoseconds) {
  constexpr std::chrono::nanoseconds kMost = std::chrono::seconds(1);
  const std::chrono::nanoseconds time(nanoseconds);
  if (time.count() >= 0 && time <= kMost) return "";
  return std::string(field) + ": " + ExactTime(time) + " is outside 0.." + ExactTime(kMost);
}

}  // namespace

void DispatcherHooks::BeforeTurn(Schedulable&, int) {}
void DispatcherHooks::AfterTurn(Schedulable&, int, TurnEnd) {}
void DispatcherHooks::AfterCompletion(Schedulable&, int) {}

Dispatcher::Dispatcher(DispatcherOptions options) : options_(std::move(options)) {
  if (options_.workers == 0) options_.workers = DefaultWorkers();
}

std::string Dispatcher::Validate(const DispatcherOptions& options) {
  constexpr std::size_t kKilobyte = 1024;
  constexpr std::size_t kMinStack = 16 * kKilobyte;
  constexpr std::size_t kMaxStack = kKilobyte * kKilobyte * kKilobyte;
  constexpr std::size_t kMaxCached = 1'000'000;
  for (std::string error :
       {CheckRange("workers", options.workers, 0, IdleWorkers::kMaxWorkers),
        CheckRange("throughput", options.throughput, 1, 4096),
        CheckRange("fiber_stack_bytes", options.fiber_stack_bytes, kMinStack, kMaxStack),
        CheckRange("fibers_cached", options.fibers_cached, std::size_t{0}, kMaxCached),
        CheckTime("turn_ns", options.turn_ns), CheckTime("turn_limit_ns", options.turn_limit_ns),
        CheckTime("search_ns", options.search_ns)}) {
    if (!error.empty()) return error;
  }
  return options.stealing.Validate();
}

void Dispatcher::VisitRunning(const std::function<void(const RunningTurn&)>&) const {}

// NOLINTNEXTLINE(performance-unnecessary-value-param): those that override it keep it
void Dispatcher::SetWatch(std::function<void()>) {}

bool Dispatcher::WatchWhileAwake() { return false; }

void Dispatcher::Wait(Event& event) {
  InjectionHold::ReleaseCurrent();
  event.Wait();
}

bool Dispatcher::WaitFor(Event& event, std::int64_t nanoseconds) {
  InjectionHold::ReleaseCurrent();
  return event.WaitFor(nanoseconds);
}

}  // namespace ergon::core
