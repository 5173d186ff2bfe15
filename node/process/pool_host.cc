// What pools do with envelopes, workers and their address: the functions of gen::PoolHost.
#include <algorithm>
#include <mutex>
#include <string_view>

#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/former_mark.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/diagnosis/node_log.h>
#include <ergon/node/diagnosis/wait_graph.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process_state/mailbox_size.h>
#include <ergon/node/spawning/pool_settings.h>

namespace ergon::node {

gen::PoolChange Process::GivenChange() const {
  const gen::Atom name = Name();
  return name.empty() ? gen::PoolChange() : rooms_.pool_settings.Of(name);
}

void Process::LogChange(std::string_view text) {
  if (rooms_.log.Level() == gen::LogLevel::kOff) return;
  WriteLine(gen::LogLevel::kInfo, text);
}

bool Process::Begin(const core::Envelope& request) {
  return request.deadline == 0 || rooms_.request_claims.Begin(request);
}

namespace {

// Gives a message to a worker by `deliver`. A request may be what closes a circle of calls: the worker waits for its
// caller. A worker that is a pool passes the request on, so nobody knows for certain who has it.
template <class Deliver>
gen::Result<void> Place(const Rooms& rooms, gen::PID to, core::EnvelopePtr& envelope,
                        const Deliver& deliver) {
  if (!IsRequest(*envelope)) return deliver();
  const ProcessSlot* const worker = rooms.addresses.Find(to);
  const bool is_pool =
      worker == nullptr || worker->pool() != nullptr;  // or its slot was one's before
  if (is_pool || !rooms.call_edges.BeginMove(to, *envelope)) return deliver();
  const gen::PID from = gen::PID::FromAddress(envelope->from);
  const std::uint64_t ref = envelope->ref;
  auto sent = deliver();
  if (const ProcessSlot* caller = rooms.call_edges.EndMove(from, ref, to, sent.has_value())) {
    rooms.wait_graph.BreakDeadlock(*caller);
  }
  return sent;
}

// Changes the slot of a worker while it is nobody else's. Returns whether the worker is still there.
template <class F>
bool ChangeSlotOf(const Addresses& addresses, gen::PID worker, const F& change) {
  ProcessSlot* const slot = addresses.Find(worker);
  if (slot == nullptr) return false;
  std::lock_guard lock(slot->Cold().lock);
  if (!slot->IsStill(worker)) return false;
  change(*slot);
  return true;
}

}  // namespace

gen::Result<void> Process::Forward(gen::PID to, core::EnvelopePtr& envelope, bool routed) {
  ++sends_;
  const FormerMark former(*envelope);
  const auto copy = static_cast<std::uint8_t>(envelope->flags & core::Envelope::kFlagCopy);
  if (routed) {
    MarkRouted(*envelope, Self().id);
    envelope->flags |= copy;
  } else {
    UnmarkRouted(*envelope);
  }
  const bool is_message = IsMessage(*envelope);
  auto sent = Place(rooms_, to, envelope, [&] { return rooms_.delivery.Deliver(to, envelope); });
  if (!sent) former.PutBack(*envelope);
  if (sent && is_message) Hold(-1);
  // A pool that is a worker of another: to that it has handled the message.
  if (sent && routed && routed_work_.duty() == gen::WorkerDuty::kReport) {
    ReportProgress();
  }
  return sent;
}

gen::Result<void> Process::ForwardMakingRoom(gen::PID worker, core::EnvelopePtr& envelope) {
  ++sends_;
  const FormerMark former(*envelope);
  const auto copy = static_cast<std::uint8_t>(envelope->flags & core::Envelope::kFlagCopy);
  MarkRouted(*envelope, Self().id);
  envelope->flags |= copy;
  const bool is_message = IsMessage(*envelope);
  auto sent = Place(rooms_, worker, envelope,
                    [&] { return rooms_.delivery.DeliverMakingRoom(worker, envelope); });
  if (!sent) former.PutBack(*envelope);
  if (sent && is_message) Hold(-1);
  return sent;
}

void Process::Adopt(core::Envelope& envelope) {
  if (!IsMessage(envelope)) return;
  counts_.Sent();
  Hold(1);
}

bool Process::LeaveToHeir(core::EnvelopePtr& envelope) {
  if (!heir_) return false;
  if (IsMessage(*envelope)) Hold(-1);
  Cold().left_to_heir.push_back(std::move(envelope));
  return true;
}

gen::Result<gen::PID> Process::SpawnWorker(const gen::ProcessFactory& factory,
                                           const gen::ProcessOptions& options,
                                           const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .link = true,
                     .heir = true});
}

gen::Result<gen::PID> Process::SpawnWorkerAsync(const gen::ProcessFactory& factory,
                                                const gen::ProcessOptions& options,
                                                const gen::Args& args) {
  return SpawnChild({.factory = factory,
                     .options = options,
                     .args = args,
                     .parent = Self(),
                     .link = true,
                     .heir = true,
                     .announce = true});
}

void Process::SetSettled(std::uint64_t settled, std::uint64_t never_given) {
  PoolSlot& slot = GetPoolSlot();
  slot.settled.store(settled, std::memory_order_relaxed);
  const bool told = slot.never_given.load(std::memory_order_relaxed) == never_given;
  slot.never_given.store(never_given, std::memory_order_relaxed);
  // The outer pool need not wait for what was given to nobody.
  if (!told && routed_work_.duty() == gen::WorkerDuty::kReport) ReportProgress();
}

bool Process::TryRedirectMain() {
  if (!mailbox_.TryRedirect()) return false;
  // Release: what the pool has forwarded before comes before what senders forward from now on.
  // Partner: Delivery::OfferTo and Delivery::TryWorker. Those who come too early leave their message here.
  GetPoolSlot().open.store(true, std::memory_order_release);
  return true;
}

void Process::SetDuty(gen::PID worker, gen::WorkerDuty duty) {
  (void)ChangeSlotOf(rooms_.addresses, worker,
                     [duty](ProcessSlot& slot) { slot.routed_work().SetDuty(duty); });
}

void Process::ResumeWorker(gen::PID worker) { rooms_.exit_signals.Resume(worker); }

void Process::SetWorkerMailboxSize(gen::PID worker, std::uint32_t messages) {
  const bool is_changed = ChangeSlotOf(rooms_.addresses, worker, [messages](ProcessSlot& slot) {
    if (!slot.IsPool()) (void)node::SetMailboxSize(slot, messages);  // which has bounds of its own
  });
  if (is_changed) rooms_.back_pressure.ServeMore(*this);
}

gen::WorkerProgress Process::Progress(gen::PID worker) const {
  gen::WorkerProgress progress = rooms_.delivery.ProgressOf(worker);
  const ProcessSlot* const slot = progress.busy ? rooms_.addresses.Find(worker) : nullptr;
  if (slot != nullptr) {
    progress.lasted = std::chrono::nanoseconds(HandlingTime(slot->activity().since(), Now()));
  }
  return progress;
}

void Process::SetPoolMakesRoom(bool makes_room) {
  GetPoolSlot().makes_room.store(makes_room, std::memory_order_relaxed);
}

bool Process::TryEndShortage() {
  PoolSlot& slot = GetPoolSlot();
  if (BackPressure::HasWaiting(*this)) return false;
  slot.shortage.store(false, std::memory_order_relaxed);
  return true;
}

void Process::SetSenderRules(const gen::SenderRules& rules) {
  PoolSlot& slot = GetPoolSlot();
  slot.choice.store(rules.choice, std::memory_order_relaxed);
  slot.seed.store(rules.seed, std::memory_order_relaxed);
  slot.admission_limit.store(rules.admission_limit.count(), std::memory_order_relaxed);
  // Relaxed: senders come here by the redirection of the Main lane, which follows.
  slot.has_rules.store(
      rules.choice != gen::SenderChoice::kRotation || rules.admission_limit.count() != 0,
      std::memory_order_relaxed);
}

std::uint64_t Process::FirstChoice() const {
  return rooms_.delivery.FirstChoice(*pool_.load(std::memory_order_relaxed));
}

std::uint64_t Process::OverloadedCount() const {
  const PoolSlot* slot = pool_.load(std::memory_order_relaxed);
  return slot == nullptr ? 0 : slot->overloaded.load(std::memory_order_relaxed);
}

void Process::NoteShortage() { rooms_.delivery.NoteShortage(GetPoolSlot(), Self()); }

std::uint64_t Process::OverflowedCount() const {
  const PoolSlot* slot = pool_.load(std::memory_order_relaxed);
  return slot == nullptr ? 0 : slot->overflowed.load(std::memory_order_relaxed);
}

bool Process::TryCloseMain(std::chrono::nanoseconds retry_after) {
  GetPoolSlot().retry_after.store(retry_after.count(), std::memory_order_relaxed);
  return mailbox_.IsRedirected() || mailbox_.TryRedirect();
}

void Process::AcceptMain() {
  // Relaxed: a sender that meets a worker that is published later sees it with that (Rotation).
  GetPoolSlot().open.store(false, std::memory_order_relaxed);
  if (mailbox_.IsRedirected()) mailbox_.AcceptMain();
}

std::uint64_t Process::ReturningMessages() {
  // Acquire; partner: ReturnToPool. Not below 0, whatever a former pool in this slot has left.
  const std::int64_t late = GetPoolSlot().late.load(std::memory_order_acquire);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(late, 0));
}

void Process::RefuseMain() {
  mailbox_.RefuseMain();
  // Nobody may be left to resume it, and what waits comes also if it was held.
  end_requests_.NoteStopAsked(Generation());
  suspended_.store(false, std::memory_order_relaxed);
  HoldMainLane(false);
  // Not all that waits reaches the behaviour: what has expired does not. So it hears of the end of the lane.
  if (mailbox_.MainDepthApprox() != 0) {
    auto last = core::MakeEnvelope<gen::Reason>(
        static_cast<std::uint8_t>(gen::EnvelopeKind::kStopAfterThis), core::Lane::kMain);
    last->from = Self().ToAddress();
    last->generation = Generation();
    mailbox_.PutLast(last.release());
  }
  rooms_.back_pressure.ServeMore(*this);  // who waits for room hears that there will be none
}

}  // namespace ergon::node
