#include <ergon/node/diagnosis/turn_meter.h>

#include <ergon/core/clock.h>
#include <ergon/node/process/process.h>

namespace ergon::node {
namespace {

// The turn that this thread runs. Both hooks of a turn are called on one thread: a handler that
// suspends itself ends its turn, and the one that resumes it is another.
struct Running {
  Process* process = nullptr;
  std::uint32_t generation = 0;
  std::int64_t since = 0;
};
thread_local Running running;

}  // namespace

void TurnMeter::BeforeTurn(core::Schedulable& schedulable, int) {
  auto& process = static_cast<Process&>(schedulable);
  running = {&process, process.generation_.load(std::memory_order_relaxed), core::SteadyNow()};
}

void TurnMeter::AfterTurn(core::Schedulable&, int, core::TurnEnd) {
  Process& process = *running.process;
  // The process may be running elsewhere already; or its slot has another one, whose time it is not.
  if (process.generation_.load(std::memory_order_relaxed) != running.generation) return;
  RareCounts& counts = process.Cold().counts;
  counts.running_ns.fetch_add(core::SteadyNow() - running.since, std::memory_order_relaxed);
  counts.turns.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace ergon::node
