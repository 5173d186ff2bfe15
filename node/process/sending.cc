// Functions of a process that send.
#include <mutex>
#include <utility>

#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/answer_call.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/groups/groups.h>
#include <ergon/node/links/exit_signals.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/send_recorder.h>
#include <ergon/node/timers/delayed_sends.h>
#include <ergon/node/timers/periodic_sends.h>

namespace ergon::node {
namespace {

// Inlined: each answer asks it.
[[gnu::always_inline]] inline bool WantsAnswer(const core::Envelope& envelope) noexcept {
  return IsRequest(envelope) || KindOf(envelope) == gen::EnvelopeKind::kInspect;
}

}  // namespace

gen::Result<gen::PID> Process::Resolve(const gen::Target& target) const {
  return rooms_.addresses.Resolve(target);
}

gen::Result<void> Process::SendEnvelope(gen::PID to, core::EnvelopePtr& envelope) {
  if (!IsInOwnTurn() || marks_.any()) [[unlikely]]
    return SendUnusual(to, envelope);
  return SendMarked(to, envelope);
}

gen::Result<void> Process::SendUnusual(gen::PID to, core::EnvelopePtr& envelope) {
  return InTurn("Send", [&] {
    Mark(*envelope, to);
    return SendMarked(to, envelope);
  });
}

void Process::Mark(core::Envelope& envelope, gen::PID to) {
  if (!marks_.any()) [[likely]]
    return;
  marks_.Apply(envelope, *this);
  rooms_.delivery.NoteSent(envelope);
  RecordSend(to, envelope);
}

void Process::RecordSend(gen::PID to, const core::Envelope& envelope) {
  if (marks_.recorded() && !rooms_.send_recorder.NoteSend(*this, to, envelope)) {
    marks_.SetRecorded(false);
  }
}

// The last thing that it does with others is to schedule the receiver: so little has to outlive that call.
[[gnu::always_inline]] inline gen::Result<void> Process::SendMarked(gen::PID to,
                                                                    core::EnvelopePtr& envelope) {
  ++sends_;
  const Addresses& addresses = rooms_.addresses;
  envelope->from = addresses.PidOf(Id()).ToAddress();
  const Delivery::Attempt attempt = Delivery::TryMain(addresses.Find(to), to, envelope);
  if (attempt.IsTaken()) [[likely]] {
    counts_.Sent();
    if (attempt.outcome == core::PushOutcome::kMustSchedule) attempt.slot->Schedule();
    MaybeYield();
    return {};
  }
  if (attempt.outcome == core::PushOutcome::kRedirected) [[likely]]
    return SendToWorker(*attempt.slot, to, envelope);
  return CompleteSend(attempt, to, envelope);
}

gen::Result<void> Process::SendToWorker(ProcessSlot& pool, gen::PID to,
                                        core::EnvelopePtr& envelope) {
  std::uint64_t turn = Delivery::kNoTurn;
  const Delivery::Attempt attempt = rooms_.delivery.TryWorker(pool, to, envelope, turn);
  if (!attempt.IsTaken()) [[unlikely]]
    return CompleteToWorker(pool, to, envelope, turn);
  counts_.Sent();
  attempt.ScheduleIfDue();
  MaybeYield();
  return {};
}

gen::Result<void> Process::CompleteToWorker(ProcessSlot& pool, gen::PID to,
                                            core::EnvelopePtr& envelope, std::uint64_t turn) {
  return AfterSend(rooms_.delivery.ToWorker(pool, to, envelope, turn), to, envelope);
}

gen::Result<void> Process::CompleteSend(Delivery::Attempt attempt, gen::PID to,
                                        core::EnvelopePtr& envelope) {
  // To another node: what Delivery::Complete does, in fewer steps.
  Transport* const transport =
      attempt.slot == nullptr && !IsTick(*envelope) ? rooms_.addresses.TransportTo(to) : nullptr;
  auto sent = transport != nullptr ? transport->Deliver(to, envelope)
                                   : rooms_.delivery.Complete(attempt, to, envelope);
  if (!sent) [[unlikely]]
    return AfterSend(std::move(sent), to, envelope);
  counts_.Sent();
  MaybeYield();
  return {};
}

gen::Result<void> Process::AfterSend(gen::Result<void> sent, gen::PID to,
                                     core::EnvelopePtr& envelope) {
  if (sent) {
    counts_.Sent();
  } else if (sent.error().code() == gen::ErrorCode::kBusy) [[unlikely]] {
    sent = DeliverWhenThereIsRoom(to, envelope);
    if (sent) counts_.Sent();
  } else if (WantsConfirmation(to, envelope)) [[unlikely]] {
    sent = SendConfirmed(to, envelope, 0);
    if (sent) counts_.Sent();
  }
  MaybeYield();
  return sent;
}

gen::Result<void> Process::DeliverWhenThereIsRoom(gen::PID to, core::EnvelopePtr& envelope) {
  // With a gen::Mutex it must not wait: the sender is told instead.
  while (gen::detail::HeldMutexes() == 0) {
    auto room = AwaitRoom(to, 0);
    if (!room) return room;
    auto sent = rooms_.delivery.Deliver(to, envelope);
    if (sent || sent.error() != gen::ErrBusy) return sent;
  }
  return gen::ErrBusy;
}

bool ProcessRunner::IsOpenQuestion() const noexcept {
  return current_ != nullptr && !answered_ && WantsAnswer(*current_);
}

gen::Result<void> Process::SendResponseEnvelope(gen::PID from, gen::Ref ref,
                                                core::EnvelopePtr response) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("SendResponse");
  ++sends_;
  if (current_ != nullptr && current_->ref == ref.id && !answered_ && WantsAnswer(*current_)) {
    answered_ = true;
  } else if (ProcessCold* cold = ColdIfAny()) {
    cold->open_requests.erase(ref);
  }
  response->from = rooms_.addresses.PidOf(Id()).ToAddress();
  marks_.ApplyTrace(*response, *this);
  if (AnswerCall(rooms_.addresses, from, ref.id, response)) [[likely]]
    return {};
  return rooms_.delivery.Respond(from, ref.id, std::move(response));
}

gen::Result<gen::TimerHandle> Process::SendEnvelopeAfter(const gen::Target& to,
                                                         core::EnvelopePtr& envelope,
                                                         std::chrono::nanoseconds delay) {
  return InTurn("SendAfter", [&] {
    envelope->from = Self().ToAddress();
    marks_.ApplyTrace(*envelope, *this);
    const gen::PID* const pid = to.AsPID();
    const bool is_own = pid != nullptr && *pid == Self();
    return rooms_.delayed_sends.Start(to, envelope, delay, is_own ? &Extras().own_sends : nullptr);
  });
}

gen::Result<gen::TimerHandle> Process::SendEnvelopesEvery(const gen::Target& to,
                                                          std::function<core::EnvelopePtr()> make,
                                                          std::chrono::nanoseconds period) {
  return InTurn("SendEvery", [&]() -> gen::Result<gen::TimerHandle> {
    // Its behaviour is being destroyed: nobody would end that.
    if (mailbox().IsClosed()) return gen::ErrProcessTerminated;
    {
      std::lock_guard lock(Cold().lock);
      Cold().periodic_sends = true;
    }
    return rooms_.periodic_sends.Start(Self(), to, std::move(make), period);
  });
}

gen::Result<void> Process::SendExit(const gen::Target& to, gen::Reason reason) {
  return InTurn("SendExit", [&] {
    ++sends_;
    return rooms_.exit_signals.SendExit(Self(), to, reason, Trace());
  });
}

gen::Result<std::size_t> Process::SendEnvelopesToGroup(
    gen::Atom group, const std::function<core::EnvelopePtr()>& make) {
  return InTurn("SendToGroup", [&] {
    const auto make_marked = [&] {
      ++sends_;
      core::EnvelopePtr envelope = make();
      Mark(*envelope, gen::PID());
      return envelope;
    };
    auto sent = rooms_.groups.Send(Self(), group, make_marked, [this] { counts_.Sent(); });
    MaybeYield();
    return sent;
  });
}

}  // namespace ergon::node
