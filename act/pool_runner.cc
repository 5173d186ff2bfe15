#include <ergon/act/pool_runner.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include <ergon/act/message_loop.h>
#include <ergon/act/pool_inspection.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::act {
PoolRunner::PoolRunner(gen::ProcessHost& host, PoolBehavior& callbacks, PoolOptions options)
    : host_(host),
      callbacks_(callbacks),
      options_(std::move(options)),
      spawner_(host, options_),
      routing_(options_),
      forwarder_(PoolForwarder::Make(host, routing_, counters_, options_)) {}

// -- start and size --

gen::Status PoolRunner::Start() {
  if (host_.HasQueue()) {
    return gen::Stop(gen::Reason::Error(
        "mailbox: a pool passes messages on in the order of arrival; give PoolOptions a "
        "worker_mailbox instead"));
  }
  started_at_ = host_.Now();
  host_.SetPoolMakesRoom(options_.WorkersMakeRoom());
  auto workers = spawner_.SpawnAll(options_.pool_size);
  if (!workers) return gen::Stop(gen::Reason::Error(std::string(workers.error().detail())));
  phase_ = Phase::kRunning;
  Join(*workers);
  return Settle();
}

gen::Result<std::int64_t> PoolRunner::AddWorkers(int count) {
  auto possible = routing_.CheckGrowth(count);
  if (!possible) return std::move(possible.error());
  auto workers = spawner_.SpawnAll(count);
  if (!workers) return std::move(workers.error());
  Join(*workers);
  return size();
}

void PoolRunner::Join(const std::vector<gen::PID>& workers) {
  std::vector<std::uint64_t> entries = host_.GetRotation().InOrder();
  for (const gen::PID worker : workers) {
    routing_.Joined(worker, host_.Now());
    entries.push_back(worker.id);
  }
  UpdateMailboxSize();
  host_.GetRotation().Publish(entries);
  forwarder_->Resized();
}

gen::Result<std::int64_t> PoolRunner::RemoveWorkers(int count, bool drain) {
  auto departure = routing_.Shrink(count, host_.GetRotation().InOrder(), drain);
  if (!departure) return std::move(departure.error());
  // First nobody finds them any more, then they are told: what is on its way to one of them
  // nevertheless is inherited.
  host_.GetRotation().Publish(departure->remaining);
  for (const gen::PID worker : departure->workers) {
    if (!drain) {
      (void)host_.Kill(worker);
      continue;
    }
    if (PoolSeat* seat = routing_.seats().FindWorker(worker)) {
      seat->handled_before = host_.Progress(worker).handled;
    }
    (void)host_.StopAfterQueue(worker, gen::Reason::Normal());
  }
  UpdateMailboxSize();
  forwarder_->Resized();
  return size();
}

std::int64_t PoolRunner::size() const {
  return static_cast<std::int64_t>(routing_.seats().members());
}

std::vector<gen::PID> PoolRunner::Workers() const {
  std::vector<gen::PID> workers;
  for (const auto& [number, seat] : routing_.seats().all()) {
    if (seat.worker && !seat.leaving) workers.push_back(seat.worker);
  }
  return workers;
}

void PoolRunner::UpdateMailboxSize() {
  if (options_.WorkerBound() == 0 || options_.strategy.IsPlacedByPool()) return;
  const std::int64_t wanted = size() * options_.WorkerBound();
  host_.SetMailboxSize(static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, kMaxMailboxSize)));
}

// -- what arrives --

gen::Status PoolRunner::OnEnvelope(core::Envelope& envelope, bool trap_exit) {
  gen::Status status;
  if (PoolForwarder::IsForwarded(envelope)) {
    forwarder_->Arrived(envelope);
  } else {
    status = OnOwn(envelope, trap_exit);
  }
  if (status.stops()) return status;
  return Settle();
}

gen::Status PoolRunner::OnOwn(core::Envelope& envelope, bool trap_exit) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kOwnTimer:
      return OnTimer(envelope);
    case gen::EnvelopeKind::kProgress:
      forwarder_->Progressed(SenderOf(envelope));
      return gen::Continue();
    case gen::EnvelopeKind::kResponse:
    case gen::EnvelopeKind::kError:
      return forwarder_->Answered(envelope) ? gen::Continue() : CallUser(envelope);
    case gen::EnvelopeKind::kInspect:
      Answer(envelope);
      return gen::Continue();
    case gen::EnvelopeKind::kExit:
      return OnExit(envelope, trap_exit);
    case gen::EnvelopeKind::kInheritance:
      if (auto* left = envelope.ValueAs<gen::MessageInheritance>()) return OnInheritance(*left);
      return gen::Continue();
    case gen::EnvelopeKind::kStarted:
      if (const auto* started = envelope.ValueAs<gen::MessageStarted>()) {
        const auto entrance = routing_.WorkerStarted(started->pid, host_.Now());
        if (entrance.entry != 0) {
          (void)host_.GetRotation().Replace(entrance.replaced, entrance.entry);
          forwarder_->WorkerReady();
        }
      }
      return gen::Continue();
    default:
      return CallUser(envelope);
  }
}

gen::Status PoolRunner::OnTimer(core::Envelope& envelope) {
  if (const auto* timer = envelope.ValueAs<ReplaceTimer>()) {
    replace_timers_.erase(timer->seat);
    // The seat may have gone meanwhile.
    if (!running() || !routing_.IsVacant(timer->seat)) return gen::Continue();
    return Obey({PoolRouting::Action::kReplace, timer->seat, {}});
  }
  if (envelope.ValueAs<PoolForwarder::RetryTimer>() != nullptr) {
    forwarder_->Retry();
  } else if (envelope.ValueAs<ShutdownTimer>() != nullptr) {
    time_is_up_ = true;
    EndWorkers();
    KillAll();
  }
  return gen::Continue();
}

gen::Status PoolRunner::CallUser(core::Envelope& envelope) {
  // Looked at before: the handler may forward it, and then it is the other one's to answer.
  const bool is_request =
      static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kRequest;
  const gen::PID from = SenderOf(envelope);
  const gen::Ref ref = RefOf(envelope);
  bool forwarded = false;
  const gen::Status status = Dispatch(host_, callbacks_, envelope, &forwarded);
  if (!status.stops()) return gen::Continue();
  if (is_request && !forwarded) {
    // The end may take a while, the caller need not wait for it. Ignored if it has an answer.
    (void)host_.SendResponseError(
        from, ref, gen::Error(gen::ErrorCode::kProcessTerminated, status.reason().ToString()));
  }
  return running() ? BeginStop(status.reason()) : gen::Continue();
}

// A worker's end is known by what it leaves behind, which always arrives, and exactly once. Its
// exit signal follows and says nothing new; a worker may also send exit signals on purpose.
gen::Status PoolRunner::OnInheritance(gen::MessageInheritance& left) {
  if (left.late) {
    forwarder_->Inherited({}, std::move(left.messages));
    return gen::Continue();
  }
  // Bounded, because no signal comes from a worker that somebody has unlinked.
  if (gone_.size() == 2 * std::size_t{kMaxPoolSize}) gone_.pop_front();
  gone_.push_back(left.pid);
  CountEnded(left);
  const auto decision = routing_.WorkerEnded(left.pid, host_.Now());
  forwarder_->Inherited(left.pid, std::move(left.messages));
  if (left.reason.IsFailure() && running()) {
    host_.Log().Debug("worker {} has ended: {}", left.pid, left.reason);
  }
  return Obey(decision);
}

void PoolRunner::CountEnded(const gen::MessageInheritance& left) {
  counters_.handled += left.handled;
  counters_.expired += left.expired;
  counters_.lost_full += left.dropped;
  if (left.holds_current) ++counters_.lost_crashed;
  const PoolSeat* seat = routing_.seats().FindWorker(left.pid);
  if (seat != nullptr && seat->leaving && seat->drains && left.handled > seat->handled_before) {
    counters_.drained += left.handled - seat->handled_before;
  }
}

gen::Status PoolRunner::OnExit(core::Envelope& envelope, bool trap_exit) {
  const auto* exit = envelope.ValueAs<gen::MessageExitPID>();
  const gen::Reason* reason = ReasonOfExit(envelope);
  if (reason == nullptr) return gen::Continue();
  const auto known =
      exit == nullptr ? gone_.end() : std::find(gone_.begin(), gone_.end(), exit->pid);
  if (known != gone_.end()) {
    gone_.erase(known);
    return gen::Continue();
  }
  if (trap_exit) return CallUser(envelope);
  // As the runtime does for processes that do not trap exits.
  const bool ignored = reason->IsNormal() && envelope.ref != gen::kExplicitExit;
  if (ignored || !running()) return gen::Continue();
  return BeginStop(*reason);
}

void PoolRunner::Answer(core::Envelope& envelope) {
  const auto* question = envelope.ValueAs<gen::InspectRequest>();
  if (question == nullptr) return;
  gen::Inspection added = callbacks_.HandleInspect(SenderOf(envelope), question->items);
  std::vector<PoolFigures::Worker> workers = ObserveWorkers(host_, routing_.seats());
  // After the look at the workers: a message that has left one is counted here.
  const std::uint64_t returning = host_.ReturningMessages();
  const std::uint64_t seen =
      CountForwarded(counters_, workers) + forwarder_->held_given() + returning;
  forwarded_ = std::max(forwarded_, std::min(forwarder_->forwarded(), seen));
  const PoolFigures figures{.worker_behavior = options_.worker_factory.TypeName(),
                            .strategy = std::string(options_.strategy.ToString()),
                            .worker_mailbox_size = options_.WorkerBound(),
                            .stopping = !running(),
                            .uptime = host_.Now() - started_at_,
                            .forwarded = forwarded_,
                            .unhandled = forwarder_->unhandled() + host_.ExpiredRequests(),
                            .queued_at_pool = forwarder_->held() + host_.MainQueued() + returning,
                            .expired = forwarder_->expired() + host_.ExpiredRequests(),
                            .overloaded = forwarder_->overloaded(),
                            .counters = counters_,
                            .workers = std::move(workers)};
  AnswerInspection(host_, envelope, InspectPool(figures, std::move(added), question->items));
}

// -- replacement --

gen::Status PoolRunner::Obey(PoolRouting::Decision decision) {
  while (decision.action == PoolRouting::Action::kReplace) {
    auto worker = spawner_.SpawnReplacement();
    if (worker) {
      if (!routing_.Spawned(decision.seat, *worker)) (void)host_.Kill(*worker);
      ++counters_.restarts;
      return gen::Continue();
    }
    host_.Log().Warning("a worker cannot be replaced: {}", worker.error());
    decision = routing_.SpawnFailed(decision.seat, host_.Now());
  }
  if (decision.action == PoolRouting::Action::kReplaceAfter) {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    host_.Log().Warning("a worker keeps ending, its replacement starts in {} ms",
                        Milliseconds(decision.delay).count());
    replace_timers_[decision.seat] =
        host_.SendSelfAfter(ReplaceTimer{decision.seat}, decision.delay);
  } else if (decision.action == PoolRouting::Action::kGiveUp) {
    return BeginStop(gen::Reason::Error(routing_.GiveUpText()));
  }
  return gen::Continue();
}

// -- the end --

gen::Status PoolRunner::BeginStop(const gen::Reason& reason) {
  if (phase_ == Phase::kEnding) return gen::Continue();
  if (phase_ == Phase::kDraining) {
    // What was waiting in the Main lane has come, or somebody is impatient.
    MainIsDone();
    return Settle();
  }
  phase_ = Phase::kDraining;
  stop_reason_ = reason;
  routing_.StopReplacing();
  forwarder_->Drain();
  const bool at_once = options_.shutdown_timeout.count() == 0;
  if (at_once) EndWorkers();
  // Behind what waits in the Main lane now, the runtime will call ProcessStop again.
  if (at_once || host_.TryRefuseMain() || !host_.StopAfterQueue(host_.Self(), reason)) MainIsDone();
  if (at_once) {
    time_is_up_ = true;
    KillAll();
  } else {
    shutdown_timer_ = host_.SendSelfAfter(ShutdownTimer{}, options_.shutdown_timeout);
  }
  return Settle();
}

void PoolRunner::MainIsDone() {
  main_is_done_ = true;
  forwarder_->Close();
}

void PoolRunner::EndWorkers() {
  if (phase_ == Phase::kEnding) return;
  phase_ = Phase::kEnding;
  forwarder_->End();
  for (auto& [number, seat] : routing_.seats().all()) {
    if (seat.leaving) continue;
    seat.drains = true;
    (void)host_.StopAfterQueue(seat.worker, stop_reason_);
  }
}

void PoolRunner::KillAll() {
  for (const auto& [number, seat] : routing_.seats().all()) {
    if (seat.worker) (void)host_.Kill(seat.worker);
  }
}

gen::Status PoolRunner::Settle() {
  if (phase_ != Phase::kEnding) forwarder_->Settle();
  if (phase_ == Phase::kRunning) return gen::Continue();
  const bool has_drained = main_is_done_ && forwarder_->HasDrained();
  if (phase_ == Phase::kDraining && (has_drained || routing_.seats().alive() == 0)) EndWorkers();
  const bool has_ended = phase_ == Phase::kEnding && routing_.seats().alive() == 0;
  if (has_ended && (time_is_up_ || forwarder_->HasFinished())) return gen::Stop(stop_reason_);
  // False: again after the next message.
  if (phase_ == Phase::kEnding || main_is_done_) (void)host_.TryRefuseMain();
  return gen::Continue();
}

void PoolRunner::Terminate() {
  phase_ = Phase::kEnding;
  routing_.StopReplacing();
  forwarder_->End();
  forwarder_->Finish();
  KillAll();
  (void)shutdown_timer_.Cancel();
  for (const auto& [seat, timer] : replace_timers_) (void)timer.Cancel();
}

}  // namespace ergon::act
