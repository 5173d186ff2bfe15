#include <ergon/node/spawning/population.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <ergon/gen/envelope_kind.h>

namespace ergon::node {

void Population::Leave(ProcessSlot& slot, core::Dispatcher& dispatcher, gen::PID pid) {
  std::vector<core::Event*> waiters;
  std::vector<ProcessCold::WaitingProcess> waiting_processes;
  // Partner: ProcessSlot::IsYetToEnd; the process has said that it is over.
  if (ProcessCold* cold = slot.ColdAfterEnd()) {
    std::lock_guard lock(cold->lock);
    waiters.swap(cold->waiters);
    waiting_processes.swap(cold->waiting_processes);
    cold->name = gen::Atom();
    cold->counts.Reset();
  }
  // The next process on that thread begins when this turn is over.
  if (&dispatcher != &shared_dispatcher_) dedicated_dispatchers_.Give(dispatcher);
  addresses_.table().Give(slot);
  for (core::Event* waiter : waiters) waiter->Set();
  for (const auto& waiting : waiting_processes) {
    (void)delivery_.Respond(
        waiting.pid, waiting.id,
        core::MakeEnvelope<bool>(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                 core::Lane::kMain, true));
  }
  if (has_listener_.load(std::memory_order_acquire)) {
    std::function<void(gen::PID)> listener;
    {
      std::lock_guard lock(listener_mutex_);
      listener = listener_;
    }
    if (listener) listener(pid);
  }
  // Last: whoever waits for the count to match may tear the node down afterwards.
  core::Event* const empty =
      departures_.Leave(core::StripedCounter::ThreadStripe(), [this] { return spawned(); });
  if (empty != nullptr) empty->Set();
}

void Population::SetListener(std::function<void(gen::PID)> told) {
  std::lock_guard lock(listener_mutex_);
  has_listener_.store(told != nullptr, std::memory_order_release);
  listener_ = std::move(told);
}

bool Population::WaitUntilEmpty(const core::Clock& clock, std::int64_t deadline) {
  for (;;) {
    core::Event empty;
    const bool is_empty = departures_.Begin(empty, [this] { return spawned(); });
    const bool reached = is_empty || shared_dispatcher_.WaitFor(
                                         empty, std::max<std::int64_t>(0, deadline - clock.Now()));
    if (departures_.End()) return reached;
    // Somebody has taken it and is about to set it, maybe one who was late for the wait before this: look again.
    shared_dispatcher_.Wait(empty);
  }
}

}  // namespace ergon::node
