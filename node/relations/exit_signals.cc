// Asking processes to end: exit signals, kills, and stops that wait in line.
#include <ergon/gen/notices.h>
#include <ergon/node/lifecycle/runtime.h>

namespace ergon::node {

void Runtime::SendExitSignal(gen::PID to, gen::PID from, const gen::Reason& reason,
                             std::uint64_t ref) {
  auto envelope = core::MakeEnvelope<gen::MessageExitPID>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kExit), core::Lane::kUrgent,
      gen::MessageExitPID{from, reason});
  envelope->from = from.ToAddress();
  envelope->ref = ref;
  DeliverExit(to, std::move(envelope));
}

void Runtime::DeliverExit(gen::PID to, core::EnvelopePtr signal) {
  Process* process = Find(to);
  if (process == nullptr) return;
  const bool ends = process->EndsWaits(*signal);
  if (!Deliver(to, signal)) return;
  Interrupt(*process, to, ends);
}

void Runtime::Interrupt(Process& process, gen::PID pid, bool ends) {
  // A process that is suspended in a call has to look at the signal. Partner:
  // Process::SettleParked, which says "parked" and then looks at the express stack, while here that
  // was pushed to first.
  if (process.await_.Unpark()) Dispatch(process);
  if (!ends) return;
  const std::uint64_t child = process.starting_child_.load(std::memory_order_seq_cst);
  // It is this process's child only if the slot has not changed hands until after that look.
  if (child != 0 && Find(pid) != nullptr) (void)Kill({child, name_, creation_});
}

gen::Result<void> Runtime::SendExitFrom(gen::PID from, const gen::Target& to,
                                        const gen::Reason& reason) {
  auto pid = Resolve(to);
  if (!pid) return std::move(pid.error());
  if (Find(*pid) == nullptr) return Reach(*pid);
  if (reason.kind() == gen::ReasonKind::kKill) return Kill(*pid);
  SendExitSignal(*pid, from, reason, gen::kExplicitExit);
  return {};
}

gen::Result<void> Runtime::Kill(gen::PID pid) {
  Process* process = Find(pid);
  if (process == nullptr) return Reach(pid);
  auto envelope =
      core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kKill), core::Lane::kUrgent);
  envelope->from = Self().ToAddress();
  auto sent = Deliver(pid, envelope);
  if (!sent) return sent;
  // The slot may have changed hands meanwhile: the flag says whose it is. A flag that overwrites a
  // later process's leaves that one its signal.
  process->killed_.store(GenerationOf(pid), std::memory_order_relaxed);
  Interrupt(*process, pid, true);
  return {};
}

gen::Result<void> Runtime::StopAfterQueue(gen::PID pid, const gen::Reason& reason) {
  Process* process = Find(pid);
  if (process == nullptr) return Reach(pid);
  auto asked = PushStop(*process, pid, reason);
  if (!asked) return asked;
  process->NoteStopAsked(GenerationOf(pid));
  Interrupt(*process, pid, false);  // it may be in AwaitOrStop
  // Sequentially consistent; partner: Process::SetSuspended. Nobody may be left to resume it. A pool may hold
  // its Main lane, in which the order waits: the signal makes it look again (Process::TakesMain).
  if (process->suspended_.load(std::memory_order_seq_cst) || process->IsPool()) {
    auto resume = core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResume),
                                   core::Lane::kUrgent);
    resume->from = Self().ToAddress();
    (void)Deliver(pid, resume);
  }
  return asked;
}

gen::Result<void> Runtime::PushStop(Process& process, gen::PID pid, const gen::Reason& reason) {
  auto envelope = core::MakeEnvelope<gen::Reason>(
      static_cast<std::uint8_t>(gen::EnvelopeKind::kStopAfterThis), core::Lane::kMain, reason);
  envelope->from = Self().ToAddress();
  envelope->generation = GenerationOf(pid);
  core::PushOutcome outcome = process.mailbox_.PushBeyondBound(envelope.get());
  if (outcome == core::PushOutcome::kRedirected) {
    QueueLane* lane = process.GetQueueLane();
    if (lane != nullptr && lane->IsOf(GenerationOf(pid))) {
      if (lane->Stop(GenerationOf(pid), envelope, process.mailbox_) !=
          QueueLane::Outcome::kQueued) {
        return gen::ErrProcessTerminated;
      }
      if (process.mailbox_.WakeIfIdle()) Dispatch(process);
      return {};
    }
    // A pool has nothing in its own Main lane: the signal need not queue behind anything.
    envelope->lane = core::Lane::kUrgent;
    outcome = process.mailbox_.Push(envelope.get());
  }
  return Accept(process, pid, outcome, envelope);
}

gen::Result<void> Runtime::SendExit(const gen::Target& to, gen::Reason reason) {
  return SendExitFrom(Self(), to, reason);
}

}  // namespace ergon::node
