#include <ergon/node/spawning/population.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <ergon/gen/envelope_kind.h>

namespace ergon::node {
namespace {

// Those who wait for the end of a process.
struct Waiters {
  std::vector<core::Event*> threads;
  std::vector<ProcessCold::WaitingProcess> processes;
};

// Returns none if nobody can have waited.
std::optional<Waiters> TakeWaiters(ProcessSlot& slot) {
  // Partner: ProcessSlot::IsYetToEnd; the process has said that it is over.
  ProcessCold* const cold = slot.ColdAfterEnd();
  if (cold == nullptr) return std::nullopt;
  std::optional<Waiters> waiters(std::in_place);
  std::lock_guard lock(cold->lock);
  waiters->threads.swap(cold->waiters);
  waiters->processes.swap(cold->waiting_processes);
  cold->name = gen::Atom();
  cold->counts.Reset();
  return waiters;
}

void Wake(const Waiters& waiters, Delivery& delivery) {
  for (core::Event* thread : waiters.threads) thread->Set();
  for (const auto& process : waiters.processes) {
    (void)delivery.Respond(
        process.pid, process.id,
        core::MakeEnvelope<bool>(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                 core::Lane::kMain, true));
  }
}

}  // namespace

void Population::Leave(ProcessSlot& slot, core::Dispatcher& dispatcher, gen::PID pid) {
  const std::optional<Waiters> waiters = TakeWaiters(slot);
  // The next process on that thread begins when this turn is over.
  if (&dispatcher != &shared_dispatcher_) dedicated_dispatchers_.Give(dispatcher);
  addresses_.table().Give(slot);
  if (waiters) Wake(*waiters, delivery_);
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
      departures_.Leave(core::ThreadStripe::OfThisThread().index(), [this] { return spawned(); });
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
