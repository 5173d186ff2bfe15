#include <ergon/act/pool/runner.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include <ergon/act/message_loop.h>
#include <ergon/act/pool/broadcast_forwarder.h>
#include <ergon/act/pool/inspection.h>
#include <ergon/act/pool/queue_forwarder.h>
#include <ergon/act/pool/rotation_forwarder.h>
#include <ergon/core/foundations/number_text.h>
#include <ergon/core/messages/rotation.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::act {
namespace {

// Returns whether a worker has ended as it was told and handled nothing, though it has left something.
bool HasKept(const gen::MessageInheritance& left, const gen::Reason& told) {
  return left.handled == 0 && !left.holds_current &&
         (!left.reason.IsFailure() || left.reason == told);
}

// Returns the forwarder for `options.strategy`. All arguments outlive it.
std::unique_ptr<PoolForwarder> MakeForwarder(gen::PoolHost& host, PoolReplacement& replacement,
                                             PoolCounters& counters, const PoolOptions& options) {
  if (options.strategy.kind() == PoolStrategy::Kind::kBroadcast) {
    return std::make_unique<PoolBroadcastForwarder>(host, replacement, counters, options);
  }
  if (options.strategy.IsPlacedByPool()) {
    return std::make_unique<PoolQueueForwarder>(host, replacement, counters, options);
  }
  return std::make_unique<PoolRotationForwarder>(host, replacement, counters, options);
}

}  // namespace

PoolRunner::PoolRunner(gen::PoolHost& host, PoolBehavior& callbacks, PoolOptions options)
    : host_(host),
      callbacks_(callbacks),
      options_(std::move(options)),
      spawner_(host, options_),
      replacement_(options_),
      forwarder_(MakeForwarder(host, replacement_, counters_, options_)),
      shortage_(host, replacement_.members(), options_) {}

// -- start and size --

gen::Status PoolRunner::Start() {
  if (host_.HasQueue()) {
    return gen::Stop(gen::Reason::Error(
        "mailbox: a pool passes messages on in the order of arrival; give PoolOptions a "
        "worker_mailbox instead"));
  }
  host_.SetPoolMakesRoom(options_.WorkersMakeRoom());
  auto workers = spawner_.SpawnAll(options_.pool_size);
  if (!workers) return gen::Stop(gen::Reason::Error(std::string(workers.error().detail())));
  phase_ = Phase::kRunning;
  Join(*workers);
  BeginScaling();
  return Settle();
}

gen::Result<std::int64_t> PoolRunner::AddWorkers(int count) {
  auto possible = replacement_.CheckGrowth(count);
  if (possible) possible = CheckBounds("AddWorkers", size() + count);
  if (!possible) return std::move(possible.error());
  const PoolOptions before = OptionsNow();
  auto now = Grow(count);
  if (!now) return now;
  ResizedByOthers();
  LogDifferences(before);
  return now;
}

gen::Result<std::int64_t> PoolRunner::RemoveWorkers(int count, bool drain) {
  const bool stays = count > 0 && count < size();
  auto possible = stays ? CheckBounds(drain ? "RemoveWorkers" : "RemoveWorkersNow", size() - count)
                        : gen::Result<void>();
  if (!possible) return std::move(possible.error());
  const PoolOptions before = OptionsNow();
  auto now = Reduce(count, drain);
  if (!now) return now;
  ResizedByOthers();
  LogDifferences(before);
  return now;
}

gen::Result<std::int64_t> PoolRunner::Grow(int count) {
  auto workers = spawner_.SpawnAll(count);
  if (!workers) return std::move(workers.error());
  Join(*workers);
  return size();
}

void PoolRunner::Join(const std::vector<gen::PID>& workers) {
  std::vector<std::uint64_t> entries = host_.GetRotation().InOrder();
  for (const gen::PID worker : workers) {
    replacement_.Joined(worker, host_.Now());
    entries.push_back(worker.id);
  }
  host_.GetRotation().Publish(entries);
  forwarder_->Resized();
}

gen::Result<std::int64_t> PoolRunner::Reduce(int count, bool drain) {
  auto departure = replacement_.Shrink(count, host_.GetRotation().InOrder(), drain);
  if (!departure) return std::move(departure.error());
  // First nobody finds them any more, then they are told: what is on its way to one of them
  // nevertheless is inherited.
  host_.GetRotation().Publish(departure->remaining);
  for (const gen::PID worker : departure->workers) {
    if (!drain) {
      (void)host_.Kill(worker);
      continue;
    }
    if (PoolMember* member = replacement_.members().FindWorker(worker)) {
      member->handled_before = host_.Progress(worker).handled;
    }
    (void)host_.StopAfterQueue(worker, gen::Reason::Normal());
  }
  forwarder_->Resized();
  return size();
}

std::int64_t PoolRunner::size() const {
  return static_cast<std::int64_t>(replacement_.members().staying());
}

std::vector<gen::PID> PoolRunner::Workers() const {
  std::vector<gen::PID> workers;
  for (const auto& [number, member] : replacement_.members().all()) {
    if (member.worker && !member.leaving) workers.push_back(member.worker);
  }
  return workers;
}

void PoolRunner::Enter(PoolReplacement::Entrance entrance) {
  if (entrance.entry == 0) return;
  core::Rotation& rotation = host_.GetRotation();
  if (!rotation.Replace(entrance.replaced, entrance.entry)) {
    std::vector<std::uint64_t> entries = rotation.InOrder();
    entries.push_back(entrance.entry);
    rotation.Publish(entries);
  }
  forwarder_->WorkerReady();
}

// -- what arrives --

gen::Status PoolRunner::OnEnvelope(core::Envelope& envelope, bool trap_exit) {
  if (static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kInspect) {
    Answer(envelope);  // maybe while a callback waits, which goes on with the rest
    return gen::Continue();
  }
  gen::Status status;
  if (PoolForwarder::IsForwarded(envelope)) {
    if (is_resting_) WakeUp();
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
    case gen::EnvelopeKind::kShortage:
      shortage_.Began(forwarder_->overloaded());
      return gen::Continue();
    case gen::EnvelopeKind::kProgress:
      forwarder_->Progressed(SenderOf(envelope));
      return gen::Continue();
    case gen::EnvelopeKind::kResponse:
    case gen::EnvelopeKind::kError:
      return forwarder_->Answered(envelope) ? gen::Continue() : OnUsers(envelope);
    case gen::EnvelopeKind::kRequest:
      return TakeChange(envelope) ? gen::Continue() : OnUsers(envelope);
    case gen::EnvelopeKind::kExit:
      return OnExit(envelope, trap_exit);
    case gen::EnvelopeKind::kInheritance:
      if (auto* left = envelope.ValueAs<gen::MessageInheritance>()) {
        return OnInheritance(*left, SenderOf(envelope));
      }
      return gen::Continue();
    case gen::EnvelopeKind::kStarted:
      if (const auto* started = envelope.ValueAs<gen::MessageStarted>()) {
        Enter(replacement_.WorkerStarted(started->pid, host_.Now()));
      }
      return gen::Continue();
    default:
      return OnUsers(envelope);
  }
}

gen::Status PoolRunner::OnTimer(core::Envelope& envelope) {
  if (const auto* timer = envelope.ValueAs<ReplaceTimer>()) {
    replace_timers_.erase(timer->member);
    // The member may have gone meanwhile.
    if (!replacement_.IsVacant(timer->member)) return gen::Continue();
    return CarryOut({PoolReplacement::Action::kReplace, timer->member, {}});
  }
  if (envelope.ValueAs<PoolForwarder::RetryTimer>() != nullptr) {
    forwarder_->Retry();
  } else if (envelope.ValueAs<PoolShortage::Timer>() != nullptr) {
    shortage_.Look(forwarder_->overloaded());
  } else if (envelope.ValueAs<ShutdownTimer>() != nullptr) {
    EndNow();
  } else if (const auto* look = envelope.ValueAs<LookTimer>()) {
    if (look->number == look_number_) Look();
  }
  return gen::Continue();
}

gen::Status PoolRunner::OnUsers(core::Envelope& envelope) {
  const gen::Status status = DispatchToUser(host_, callbacks_, envelope);
  return status.stops() && running() ? BeginStop(status.reason()) : gen::Continue();
}

// A worker's end is known by what it leaves behind, which always arrives, and exactly once. Its
// exit signal follows and says nothing new; a worker may also send exit signals on purpose.
gen::Status PoolRunner::OnInheritance(gen::MessageInheritance& left, gen::PID from) {
  if (left.late) {
    forwarder_->CameFrom(left.pid, true, std::move(left.messages));
    return FillGap(true);
  }
  CountEnded(left, from);
  if (left.indirect) {
    forwarder_->LoseCopies(left.messages);
    forwarder_->CameFrom(from, false, std::move(left.messages));
    return FillGap(true);
  }
  // Bounded, because no signal comes from a worker that somebody has unlinked.
  if (gone_.size() == 2 * std::size_t{kMaxPoolSize}) gone_.pop_front();
  gone_.push_back(left.pid);
  const PoolMember* ended = replacement_.members().FindWorker(left.pid);
  // It was made for what others had left, which is in its stash now: the next one would keep it, too.
  if (ended != nullptr && fillers_.erase(ended->number) != 0 && HasKept(left, stop_reason_)) {
    forwarder_->Lose(std::exchange(left.messages, {}));
  }
  const auto decision = replacement_.WorkerEnded(left.pid, left.handled, host_.Now());
  const bool left_something = !left.messages.empty();
  forwarder_->Inherited(left.pid, std::move(left.messages));
  if (left_something && is_resting_) WakeUp();  // a worker that left had them, the others now have
  if (left.reason.IsFailure() && running()) {
    host_.Log().Debug("worker {} has ended: {}", left.pid, left.reason);
  }
  if (decision.action == PoolReplacement::Action::kNothing) return FillGap(left_something);
  // At the end, a place without work need not be filled: Settle dismisses it.
  if (main_is_done_ && forwarder_->HasDrained()) return gen::Continue();
  return CarryOut(decision);
}

void PoolRunner::CountEnded(const gen::MessageInheritance& left, gen::PID from) {
  // What the worker of a pool has handled that is a worker here was seen there before: it counts once.
  if (PoolMember* past = left.indirect ? replacement_.members().FindWorker(from) : nullptr) {
    past->handled_seen -= std::min(past->handled_seen, left.handled);
    past->expired_seen -= std::min(past->expired_seen, left.expired);
  }
  counters_.handled += left.handled;
  counters_.expired += left.expired;
  if (left.holds_current) ++counters_.lost_crashed;
  const PoolMember* member = replacement_.members().FindWorker(left.pid);
  if (member != nullptr && member->taken_out && left.handled > member->handled_before) {
    counters_.drained += left.handled - member->handled_before;
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
  if (trap_exit) return OnUsers(envelope);
  // As the runtime does for processes that do not trap exits.
  const bool ignored = reason->IsNormal() && envelope.ref != gen::kExplicitExit;
  if (ignored || !running()) return gen::Continue();
  return BeginStop(*reason);
}

void PoolRunner::Answer(core::Envelope& envelope) {
  const auto* question = envelope.ValueAs<gen::InspectRequest>();
  if (question == nullptr) return;
  if (core::IsType<PoolStats>(question->wanted)) {
    // Whether somebody still waits does not matter to the one who answers.
    (void)host_.SendResponse(SenderOf(envelope), RefOf(envelope), MakePoolStats(Observe()));
    return;
  }
  gen::Inspection added = callbacks_.HandleInspect(SenderOf(envelope), question->items);
  Tell(added);
  AnswerInspection(host_, envelope, InspectPool(Observe(), std::move(added), question->items));
}

PoolFigures PoolRunner::Observe() {
  std::vector<PoolFigures::Worker> workers = ObserveWorkers(host_, replacement_.members());
  PoolCounters counters = counters_;
  counters.lost_full += host_.OverflowedCount();
  // After the look at the workers: a message that has left one is counted here.
  const std::uint64_t returning = host_.ReturningMessages();
  const std::uint64_t seen =
      CountForwarded(counters, workers) + forwarder_->held_given() + returning;
  forwarded_ = std::max(forwarded_, std::min(forwarder_->forwarded(), seen));
  const std::int64_t known = MeanPace(workers, forwarder_->mean_handling());
  if (known != 0) pace_ = known;
  const std::int64_t pace = pace_ != 0 ? pace_ : LongestNow(workers);
  handled_ = std::max(handled_, CountHandled(counters, workers));
  return {.worker_behavior = options_.worker_factory.TypeName(),
          .strategy = std::string(options_.strategy.ToString()),
          .worker_mailbox_size = options_.WorkerBound(),
          .stopping = !running(),
          .pace = pace,
          .forwarded = forwarded_,
          .unhandled = forwarder_->unhandled() + host_.ExpiredRequests(),
          .queued_at_pool = forwarder_->held() + host_.MainQueued() + returning,
          .expired = forwarder_->expired() + host_.ExpiredRequests(),
          .overloaded = forwarder_->overloaded(),
          .counters = counters,
          .handled = handled_,
          .workers = std::move(workers)};
}

// -- replacement --

gen::Status PoolRunner::CarryOut(PoolReplacement::Decision decision) {
  bool has_failed = false;
  while (decision.action == PoolReplacement::Action::kReplace) {
    auto worker = spawner_.SpawnReplacement();
    if (worker) {
      if (!replacement_.Spawned(decision.member, *worker)) (void)host_.Kill(*worker);
      ++counters_.restarts;
      return gen::Continue();
    }
    host_.Log().Warning("a worker cannot be replaced: {}", worker.error());
    has_failed = true;
    decision = replacement_.SpawnFailed(decision.member, host_.Now());
  }
  if (decision.action == PoolReplacement::Action::kReplaceAfter) {
    host_.Log().Warning("{} in {}",
                        has_failed ? "the replacement of a worker is tried again"
                                   : "a worker keeps ending, its replacement starts",
                        core::RoundTime(decision.delay));
    replace_timers_[decision.member] =
        host_.SendSelfAfter(ReplaceTimer{decision.member}, decision.delay);
  } else if (decision.action == PoolReplacement::Action::kGiveUp) {
    return GiveUp(gen::Reason::Error(replacement_.GiveUpText()));
  }
  return gen::Continue();
}

}  // namespace ergon::act
