// How a pool ends: it drains, tells its workers to leave, and waits for them.
#include <ergon/act/pool/runner.h>
#include <ergon/core/messages/rotation.h>

namespace ergon::act {

gen::Status PoolRunner::BeginStop(const gen::Reason& reason) {
  // Again: the last of what waited in the Main lane has come (PoolHost::RefuseMain), or somebody is impatient.
  if (phase_ == Phase::kDraining || phase_ == Phase::kEnding) return Settle();
  phase_ = Phase::kDraining;
  host_.RefuseMain();
  stop_reason_ = reason;
  EndScaling();
  // The pool waits for what they have, and those that are suspended would not be told to end before that.
  for (const auto& [number, member] : replacement_.members().all()) {
    if (member.worker) host_.ResumeWorker(member.worker);
  }
  const auto steps = replacement_.BeginStop();
  for (const gen::PID worker : steps.leaving) (void)host_.StopAfterQueue(worker, reason);
  forwarder_->Drain();
  forwarder_->Resized();
  const bool at_once = options_.shutdown_timeout.count() == 0;
  if (at_once) EndNow();
  if (host_.MainQueued() == 0) MainIsDone();
  if (!at_once) {
    shutdown_timer_ = host_.SendSelfAfter(ShutdownTimer{}, options_.shutdown_timeout);
  }
  const bool has_work = !main_is_done_ || !forwarder_->HasDrained();
  for (const std::uint64_t member : steps.vacant) {
    if (!has_work || has_given_up_) break;
    if (auto timer = replace_timers_.extract(member)) (void)timer.mapped().Cancel();
    // The shutdown time-out ends it, if not success.
    (void)CarryOut({PoolReplacement::Action::kReplace, member, {}});
  }
  return Settle();
}

gen::Status PoolRunner::GiveUp(const gen::Reason& reason) {
  has_given_up_ = true;
  replacement_.StopReplacing();
  return phase_ == Phase::kRunning ? BeginStop(reason) : Settle();
}

void PoolRunner::MainIsDone() {
  main_is_done_ = true;
  forwarder_->Close();
}

void PoolRunner::TellWorkers() {
  phase_ = Phase::kEnding;
  if (replacement_.members().staying() == 0) return;
  host_.GetRotation().Publish({});
  for (const gen::PID worker : replacement_.Dismiss())
    (void)host_.StopAfterQueue(worker, stop_reason_);
  forwarder_->Resized();
}

void PoolRunner::EndNow() {
  time_is_up_ = true;
  has_given_up_ = true;
  main_is_done_ = true;
  replacement_.StopReplacing();
  forwarder_->End();
  TellWorkers();
  KillAll();
}

void PoolRunner::KillAll() {
  for (const auto& [number, member] : replacement_.members().all()) {
    if (member.worker) (void)host_.Kill(member.worker);
  }
}

gen::Status PoolRunner::Settle() {
  forwarder_->Settle();
  host_.SetSettled(counters_.handled + counters_.Lost(), counters_.never_given);
  if (phase_ == Phase::kRunning) return gen::Continue();
  if (!main_is_done_ && host_.MainQueued() == 0) MainIsDone();
  if (main_is_done_) {
    // Nobody is there for what is left, and nobody will be.
    if (has_given_up_ && replacement_.members().staying() == 0) forwarder_->End();
    if (forwarder_->HasDrained()) TellWorkers();
  }
  const bool has_ended =
      phase_ == Phase::kEnding && replacement_.members().alive() == 0 && forwarder_->HasDrained();
  return has_ended && (time_is_up_ || forwarder_->HasFinished()) ? gen::Stop(stop_reason_)
                                                                 : gen::Continue();
}

void PoolRunner::Terminate() {
  phase_ = Phase::kEnding;
  replacement_.StopReplacing();
  forwarder_->End();
  forwarder_->Finish();
  forwarder_->TellRest();
  KillAll();
  host_.SetSettled(counters_.handled + counters_.Lost(), counters_.never_given);
  (void)shutdown_timer_.Cancel();
  (void)look_timer_.Cancel();
  shortage_.Cancel();
  for (const auto& [member, timer] : replace_timers_) (void)timer.Cancel();
}

gen::Status PoolRunner::FillGap(bool left_something) {
  if (running() || forwarder_->HasDrained()) return gen::Continue();
  // As many as have left something behind since they were told to end, at least one.
  const bool is_needed = replacement_.members().staying() == 0 || phase_ == Phase::kEnding;
  if (!left_something || !is_needed) return gen::Continue();
  const auto decision = replacement_.AddWorker(host_.Now());
  fillers_.insert(decision.member);
  return CarryOut(decision);
}

}  // namespace ergon::act
