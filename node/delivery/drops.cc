#include <ergon/node/delivery/drops.h>

#include <mutex>
#include <typeinfo>

namespace ergon::node {

// Out of line: a caller that was suspended in between may be on another thread.
static constinit thread_local bool is_silent = false;
Drops::Silence::Silence() noexcept { is_silent = true; }
Drops::Silence::~Silence() { is_silent = false; }
bool Drops::Silence::IsSet() noexcept { return is_silent; }

void Drops::Note(const core::Envelope& envelope, gen::PID to, gen::DropReason reason,
                 const gen::Error& error) {
  counts_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  memory_.Note([&] { return MakeDrop(envelope, to, reason, error); });
}

void Drops::TellListener(Listener& listener, core::EnvelopePtr envelope, gen::PID to,
                         gen::DropReason reason, const gen::Error& error) {
  if (Silence::IsSet() || envelope->type == nullptr) return;
  auto what = DropMemory::Describe(MakeDrop(*envelope, to, reason, error), started_at_);
  listener.Dropped(gen::DeadLetter(std::move(what), std::move(envelope)));
}

DropMemory::Drop Drops::MakeDrop(const core::Envelope& envelope, gen::PID to,
                                 gen::DropReason reason, const gen::Error& error) const {
  return {.time = clock_.Now(),
          .to = to,
          .behavior = BehaviorType(to),
          .from = gen::PID::FromAddress(envelope.from),
          .type = envelope.type,
          .reason = reason,
          .error = error};
}

const std::type_info* Drops::BehaviorType(gen::PID pid) const {
  const ProcessSlot* slot = pid ? addresses_.FindSlot(pid) : nullptr;
  if (slot == nullptr) return nullptr;
  ProcessCold& cold = slot->Cold();
  std::lock_guard lock(cold.lock);
  if (slot->IsStill(pid)) {
    const gen::ProcessBehavior& behavior = slot->behavior();
    return &typeid(behavior);
  }
  return cold.former_generation == GenerationOf(pid) ? cold.former_behavior : nullptr;
}

}  // namespace ergon::node
