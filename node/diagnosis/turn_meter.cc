#include <ergon/node/diagnosis/turn_meter.h>

#include <ergon/core/clock.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {
namespace {

// The turn that this thread runs. Both hooks of a turn are called on one thread: a handler that
// suspends itself ends its turn, and the one that resumes it is another.
struct Running {
  ProcessSlot* process = nullptr;
  std::uint64_t id = 0;
  std::int64_t since = 0;
};
thread_local Running running;

}  // namespace

void TurnMeter::BeforeTurn(core::Schedulable& schedulable, int) {
  auto& process = static_cast<ProcessSlot&>(schedulable);
  running = {&process, process.Id(), core::SteadyNow()};
}

void TurnMeter::AfterTurn(core::Schedulable&, int, core::TurnEnd) {
  ProcessSlot& process = *running.process;
  // The process may be running elsewhere already; or its slot has another one, whose time it is not.
  if (process.Id() != running.id) return;
  RareCounts& counts = process.Cold().counts;
  counts.running_ns.fetch_add(core::SteadyNow() - running.since, std::memory_order_relaxed);
  counts.turns.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace ergon::node
