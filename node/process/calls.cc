// Functions of a process that suspend it: Call, SendOrWait, Receive, Sleep, Yield, AwaitEnd.
#include <algorithm>
#include <mutex>

#include <fmt/core.h>

#include <ergon/core/clock.h>
#include <ergon/core/time/deadline.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/diagnosis/for_people.h>
#include <ergon/node/diagnosis/wait_graph.h>
#include <ergon/node/events/publishing.h>
#include <ergon/node/links/relations.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/measuring.h>
#include <ergon/node/process/pending_wait.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/receiving.h>
#include <ergon/node/process/wait_errors.h>

namespace ergon::node {
namespace {

// Does not stay in the line for room when it goes out of scope, whatever comes out of its wait.
class SuspendedSender final : public WaitingSender {
 public:
  // `id`: of the wait of `self`.
  SuspendedSender(gen::PID receiver, core::EnvelopePtr& message, const Rooms& rooms, gen::PID self,
                  std::uint64_t id)
      : WaitingSender(receiver, message),
        rooms_(rooms),
        self_(self),
        id_(id),
        signal_(core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                                 core::Lane::kMain)) {}
  ~SuspendedSender() {
    if (stands_in_line_) (void)Leave();
  }
  void Enter() {
    rooms_.back_pressure.Enter(*this);
    stands_in_line_ = true;
  }
  // See BackPressure::Leave.
  [[nodiscard]] bool Leave() {
    stands_in_line_ = false;
    return rooms_.back_pressure.Leave(*this);
  }
  // Ignored when it does not wait any more.
  void Wake() override { (void)rooms_.delivery.Respond(self_, id_, std::move(signal_)); }

 private:
  const Rooms& rooms_;
  const gen::PID self_;
  const std::uint64_t id_;
  core::EnvelopePtr signal_;  // made early: once the message is delivered, waking must not fail
  bool stands_in_line_ = false;
};

// Ends an edge that has begun, whatever comes out of the call.
class OpenEdge {
 public:
  explicit OpenEdge(CallEdge& edge) : edge_(edge) {}
  OpenEdge(const OpenEdge&) = delete;
  OpenEdge& operator=(const OpenEdge&) = delete;
  ~OpenEdge() { edge_.End(); }

 private:
  CallEdge& edge_;
};

bool IsOnlyWorker(const ProcessSlot* pool, gen::PID pid) {
  const PoolSlot* const slot = pool == nullptr ? nullptr : pool->pool();
  return slot != nullptr && slot->rotation.size() == 1 && slot->rotation.At(0) == pid.id;
}

}  // namespace

// An exact time takes four times as long as a coarse one. It is wanted where WaitGraph::BreakDeadlock looks which call
// came last: of a call that may close a circle, because its callee waits already or is a pool; and of one that is made
// while a request is handled, whose caller must not seem to have called later. A call of another node takes far longer
// than a look at the clock, and may begin several times (CallAgain).
[[gnu::always_inline]] inline Process::CallTime Process::TimeOfCall(
    const ProcessSlot* callee, std::chrono::nanoseconds timeout) const {
  const bool handles_request = current_ != nullptr && IsRequest(*current_);
  const bool is_exact = callee == nullptr || callee->WaitedForCertain() != 0 ||
                        callee->pool() != nullptr || handles_request ||
                        !rooms_.MayBeCoarse(timeout);
  const std::int64_t now = is_exact ? rooms_.clock.Now() : MachineTime::CoarseNow();
  if (timeout == gen::kInfinite) return {now, 0};
  return {now, core::DeadlineAfter(is_exact ? now : now + core::kCoarseLag, timeout)};
}

[[gnu::always_inline]] inline gen::Result<core::EnvelopePtr> Process::CallOnce(
    gen::PID to, core::EnvelopePtr& request, std::chrono::nanoseconds timeout, bool may_wait) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn(FunctionThatAsks(*request));
  if (gen::detail::HeldMutexes() != 0) [[unlikely]]
    CheckMaySuspend(FunctionThatAsks(*request));
  const gen::PID self = rooms_.addresses.PidOf(Id());
  if (to == self) {
    return gen::Error(gen::ErrorCode::kDeadlock, fmt::format("{} would wait for itself ({})", to,
                                                             TypeForPeople(request->type)));
  }
  if (IsBeingEnded()) return EndingError();
  ProcessSlot* const callee = rooms_.addresses.Find(to);
  const auto [now, deadline] = TimeOfCall(callee, timeout);
  PendingWait wait(*this);
  request->from = self.ToAddress();
  request->ref = wait.id();
  request->deadline = deadline;
  CallEdge& edge = ExtrasIfAny()->edge;  // made by BeginWait, as all that a wait needs
  const OpenEdge open(edge);
  // On another node: nobody whom the graph of waits knows.
  const bool is_here = callee != nullptr || to.node == self.node;
  const std::uint64_t callee_id = is_here ? to.id : 0;
  edge.Begin(wait.id(), callee_id, request->type, now, CallEdges::TicketOf(callee, *request));
  if (marks_.any()) [[unlikely]] {
    Mark(*request, to);
    Measuring::NoteCallee(*this, callee);
  }
  ++sends_;
  const bool is_message = IsMessage(*request);  // or an inspection
  const Delivery::Attempt attempt = Delivery::TryMain(callee, to, request);
  if (attempt.IsTaken()) [[likely]] {
    if (attempt.outcome == core::PushOutcome::kMustSchedule) callee->Schedule();
  } else {
    auto sent = rooms_.delivery.Complete({callee, attempt.outcome}, to, request);
    if (!sent) {
      wait.Withdraw();
      return may_wait && sent.error() == gen::ErrBusy ? CallAgain(to, std::move(request))
                                                      : std::move(sent.error());
    }
  }
  if (is_message) counts_.Sent();
  // Nearly always the callee has the request and does not wait itself; its edge is read after this one is sent, see
  // CallEdge.
  if (edge.Sent(wait.id()) &&
      (!attempt.IsTaken() || callee->WaitedForCertain() != 0 || edge.IsMoved(wait.id()))) {
    rooms_.wait_graph.BreakDeadlock(*this);
  }
  auto outcome = wait.Wait(deadline);
  if (wait.answer == nullptr) [[unlikely]]
    return CallUnanswered(outcome, edge);
  return std::move(wait.answer);
}

gen::Error Process::CallUnanswered(const gen::Result<core::AwaitOutcome>& outcome, CallEdge& edge) {
  const bool begun = outcome && *outcome == core::AwaitOutcome::kExpiredBegun;
  const bool expired = begun || (outcome && *outcome == core::AwaitOutcome::kExpired);
  CallEdge::View call = expired ? edge.Read() : CallEdge::View();
  call.begun = begun;
  edge.End();  // the description is of those that still wait
  if (expired) return rooms_.descriptions.TimeoutError(call);
  if (!outcome) return outcome.error();
  return gen::Error(gen::ErrorCode::kInternal, "the wait ended without an answer");
}

gen::Result<core::EnvelopePtr> Process::CallEnvelope(gen::PID to, core::EnvelopePtr request,
                                                     std::chrono::nanoseconds timeout) {
  return CallOnce(to, request, timeout, true);
}

// A loop: so many callers may wait that each has to try as often as there are others.
gen::Result<core::EnvelopePtr> Process::CallAgain(gen::PID to, core::EnvelopePtr request) {
  const std::int64_t deadline = request->deadline;
  for (;;) {
    auto room = AwaitRoom(to, deadline);
    if (!room) return std::move(room.error());
    const auto left = std::chrono::nanoseconds(std::max<std::int64_t>(deadline - Now(), 1));
    auto answer = CallOnce(to, request, deadline == 0 ? gen::kInfinite : left, false);
    if (answer || answer.error() != gen::ErrBusy) return answer;
  }
}

gen::Result<void> Process::SendEnvelopeOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                              std::chrono::nanoseconds timeout) {
  return InTurn("SendOrWait", [&]() -> gen::Result<void> {
    CheckMaySuspend("SendOrWait");
    auto checked = CheckNotNegative("timeout", timeout);
    if (!checked) return checked;
    auto pid = rooms_.addresses.Resolve(to);
    if (!pid) return std::move(pid.error());
    const std::int64_t deadline =
        timeout == gen::kInfinite ? 0 : core::DeadlineAfter(Now(), timeout);
    ++sends_;
    envelope->from = Self().ToAddress();
    Mark(*envelope, *pid);
    const bool may_wait = timeout != std::chrono::nanoseconds::zero();
    auto sent = rooms_.back_pressure.TryDeliver(*pid, envelope, may_wait);
    while (may_wait && !sent && sent.error() == gen::ErrBusy) {  // the way to another node is full
      auto room = AwaitRoom(*pid, deadline);
      if (!room) return room;
      sent = rooms_.delivery.Deliver(*pid, envelope);
    }
    if (!sent && WantsConfirmation(*pid, envelope)) {
      sent = SendConfirmed(*pid, envelope, deadline);
    } else if (may_wait && !sent && sent.error() == gen::ErrProcessMailboxFull) {
      sent = SendInTurn(*pid, envelope, deadline);
    }
    if (sent) counts_.Sent();
    MaybeYield();
    return sent;
  });
}

bool Process::WantsConfirmation(gen::PID to, const core::EnvelopePtr& envelope) const {
  return envelope != nullptr && IsImportant(*envelope) &&
         KindOf(*envelope) == gen::EnvelopeKind::kMessage &&
         rooms_.addresses.TransportTo(to) != nullptr;
}

gen::Result<void> Process::SendConfirmed(gen::PID to, core::EnvelopePtr& envelope,
                                         std::int64_t deadline) {
  if (gen::detail::HeldMutexes() != 0) {
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      "an important message to another node suspends the process, which holds a "
                      "gen::Mutex: unlock it first");
  }
  for (;;) {
    if (IsBeingEnded()) return EndingError();
    PendingWait wait(*this);
    auto sent = rooms_.addresses.TransportTo(to)->SendImportant(to, *envelope, Self(), wait.id());
    if (!sent) {
      wait.Withdraw();
      if (sent.error() != gen::ErrBusy) return sent;
      auto room = AwaitRoom(to, deadline);
      if (!room) return room;
      continue;
    }
    auto outcome = wait.Wait(deadline);
    if (!outcome) return std::move(outcome.error());
    if (wait.answer == nullptr) {
      return gen::Error(gen::ErrorCode::kTimeout,
                        fmt::format("{} has not confirmed the message", to.node));
    }
    if (auto* error = wait.answer->ValueAs<gen::Error>()) return std::move(*error);
    rooms_.totals.given_to_nodes.Add();
    envelope.reset();
    return {};
  }
}

gen::Result<std::vector<gen::MessageEvent>> Process::SubscribeElsewhere(const gen::Event& event,
                                                                        bool link) {
  CheckMaySuspend(link ? "LinkEvent" : "MonitorEvent");
  const std::int64_t deadline = core::DeadlineAfter(Now(), gen::kDefaultCallTimeout);
  for (;;) {
    if (IsBeingEnded()) return EndingError();
    PendingWait wait(*this);
    const auto note = rooms_.publishing.BeginElsewhere(*this, event, link, wait.id());
    if (!note) {
      wait.Withdraw();
      if (note.error() != gen::ErrBusy) return note.error();
      auto room = AwaitRoom({0, event.node, 0}, deadline);
      if (!room) return std::move(room.error());
      continue;
    }
    auto outcome = wait.Wait(deadline);
    if (wait.answer != nullptr) {
      if (auto* missed = wait.answer->ValueAs<std::vector<gen::MessageEvent>>()) {
        return std::move(*missed);
      }
    }
    if (Relations::TakeSubscription(*this, wait.id())) {
      rooms_.publishing.EndSubscription(*note, Self());
    }
    if (!outcome) return std::move(outcome.error());
    if (wait.answer == nullptr) {
      return gen::Error(gen::ErrorCode::kTimeout,
                        fmt::format("{} has not answered for event {}", event.node, event.name));
    }
    return std::move(*wait.answer->ValueAs<gen::Error>());
  }
}

gen::Result<void> Process::SendInTurn(gen::PID to, core::EnvelopePtr& envelope,
                                      std::int64_t deadline) {
  if (to == Self()) {
    return gen::Error(gen::ErrorCode::kDeadlock,
                      fmt::format("{} would wait for room in its own mailbox", to));
  }
  if (IsOnlyWorker(rooms_.addresses.Find(to), Self())) {
    return BackPressure::WouldWaitForItself(Self(), to);
  }
  if (IsBeingEnded()) return EndingError();
  PendingWait wait(*this);
  SuspendedSender sender(to, envelope, rooms_, Self(), wait.id());
  sender.Enter();
  auto outcome = wait.Wait(deadline);
  if (!sender.Leave()) return std::move(sender.outcome);
  if (!outcome) return std::move(outcome.error());
  return gen::ErrProcessMailboxFull;
}

gen::Result<void> Process::AwaitRoom(gen::PID to, std::int64_t deadline) {
  if (IsBeingEnded()) return EndingError();
  Transport* const transport = rooms_.addresses.TransportTo(to);
  if (transport == nullptr) return {};
  PendingWait wait(*this);
  transport->AwaitRoom(to.node, Self(), wait.id());
  auto outcome = wait.Wait(deadline);
  if (!outcome) return std::move(outcome.error());
  if (*outcome != core::AwaitOutcome::kExpired) return {};
  return gen::Error(gen::ErrorCode::kTimeout,
                    fmt::format("too much waits to be sent to {}", to.node));
}

gen::Result<void> Process::ReceiveEnvelope(gen::Receiver& receiver,
                                           std::chrono::nanoseconds timeout) {
  return InTurn("Receive", [&]() -> gen::Result<void> {
    if (!behavior_->Receives()) {
      return gen::Error(
          gen::ErrorCode::kNotAllowed,
          fmt::format("Receive: {} has handlers, which get its messages; only a process "
                      "made of a function receives",
                      gen::BehaviorNameOf(*behavior_)));
    }
    auto checked = CheckNotNegative("timeout", timeout);
    if (!checked) return checked;
    CheckMaySuspend("Receive");
    return Receiving(*this).Run(receiver, timeout);
  });
}

gen::Receiver* Process::CurrentReceiver() {
  const ProcessCold* const cold = ColdIfAny();
  return cold == nullptr || cold->passed_over == nullptr ? nullptr : cold->passed_over->receiver;
}

void Process::Yield() {
  MustBeInOwnTurn("Yield");
  CheckMaySuspend("Yield");
  GiveWay();
}

bool Process::Sleep(std::chrono::nanoseconds duration) {
  MustBeInOwnTurn("Sleep");
  CheckMaySuspend("Sleep");
  if (IsBeingEnded()) return false;
  if (duration <= std::chrono::nanoseconds::zero()) return true;
  return PendingWait(*this).Wait(core::DeadlineAfter(Now(), duration)).has_value();
}

gen::Result<void> Process::AwaitEnd(gen::PID pid, std::chrono::nanoseconds timeout) {
  CheckMaySuspend("AwaitEnd");
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  if (IsBeingEnded()) return EndingError();
  ProcessSlot* const other = rooms_.addresses.FindSlot(pid);
  if (other == nullptr || !other->IsYetToEnd(pid)) return {};
  PendingWait wait(*this);
  ProcessCold& cold = other->Cold();
  {
    std::lock_guard lock(cold.lock);
    if (!other->IsYetToEnd(pid)) return {};
    // With a clock that stands at 0 the deadline would be 0, which is none.
    if (timeout == std::chrono::nanoseconds::zero()) return gen::ErrTimeout;
    cold.waiting_processes.push_back({Self(), wait.id()});
  }
  auto outcome = wait.Wait(timeout == gen::kInfinite ? 0 : core::DeadlineAfter(Now(), timeout));
  if (outcome && *outcome != core::AwaitOutcome::kExpired) return {};
  {
    std::lock_guard lock(cold.lock);
    std::erase_if(cold.waiting_processes,
                  [&](const auto& waiting) { return waiting.id == wait.id(); });
  }
  if (!outcome) return std::move(outcome.error());
  return gen::ErrTimeout;
}

}  // namespace ergon::node
