// The pool that sizes itself: it measures, and does what PoolAutoscaler decides.
#include <string>
#include <utility>

#include <fmt/core.h>

#include <ergon/act/pool/runner.h>
#include <ergon/core/foundations/number_text.h>

namespace ergon::act {

void PoolRunner::BeginScaling() {
  if (!options_.autoscale) return;
  autoscaler_.emplace(*options_.autoscale);
  (void)autoscaler_->Look(MeasureNow());
  ArmLook();
}

void PoolRunner::EndScaling() {
  (void)look_timer_.Cancel();
  if (std::exchange(is_resting_, false)) forwarder_->LetMessagesCome(false);
}

void PoolRunner::ArmLook() {
  const std::chrono::nanoseconds period = autoscaler_->Period();
  (void)look_timer_.Cancel();
  ++look_number_;
  if (period.count() != 0) look_timer_ = host_.SendSelfAfter(LookTimer{look_number_}, period);
}

PoolMeasure PoolRunner::MeasureNow() {
  const PoolFigures figures = Observe();
  const PoolStats stats = MakePoolStats(figures);
  const std::size_t here = forwarder_->held() - forwarder_->held_given() + host_.MainQueued();
  // Workers that leave are no part of what the others do, and may take as long as they want.
  std::uint64_t waiting = figures.queued_at_pool;
  int busy = 0;
  for (const PoolStats::Worker& worker : stats.workers) {
    waiting += worker.queued;
    if (worker.state == PoolStats::WorkerState::kBusy) ++busy;
  }
  return {
      .now = host_.Now(),
      .arrived = forwarder_->forwarded() + here + forwarder_->refused() + host_.ExpiredRequests(),
      .handled = figures.handled,
      .waiting = waiting,
      .workers = static_cast<int>(stats.size),
      .busy = busy,
      .leaving = stats.queued - waiting,
      .handling = std::chrono::nanoseconds(figures.pace),
      .wait = stats.queue_wait_estimate};
}

void PoolRunner::Look() {
  if (!running()) return;
  const PoolMeasure measure = MeasureNow();
  const std::uint64_t before = autoscaler_->decided();
  const int workers = autoscaler_->Look(measure);
  if (workers != measure.workers) {
    Scale(workers);
  } else if (autoscaler_->decided() != before) {
    host_.Log().Info("autoscale: {}", autoscaler_->decisions().front().ToString());
  }
  if (!running()) return;  // it has been told to end while its new workers started
  is_resting_ = autoscaler_->IsAtRest();
  forwarder_->LetMessagesCome(is_resting_);
  ArmLook();
  // Those who came just now did not know.
  if (is_resting_ && MeasureNow().arrived != measure.arrived) WakeUp();
}

void PoolRunner::Scale(int workers) {
  const int more = workers - static_cast<int>(size());
  auto done = more > 0 ? Grow(more) : Reduce(-more, true);
  if (!done) autoscaler_->Failed(done.error().ToString());
  host_.Log().Info("autoscale: {}", autoscaler_->decisions().front().ToString());
}

void PoolRunner::WakeUp() {
  is_resting_ = false;
  forwarder_->LetMessagesCome(false);
  autoscaler_->Woken(MeasureNow());
  ArmLook();
}

void PoolRunner::ResizedByOthers() {
  if (!autoscaler_) return;
  autoscaler_->Resized();
  if (is_resting_) WakeUp();  // there may be more to take out
}

gen::Result<void> PoolRunner::CheckBounds(const char* function, std::int64_t workers) const {
  if (!options_.autoscale) return {};
  const PoolAutoscale& bounds = *options_.autoscale;
  if (workers >= bounds.min && workers <= bounds.max) return {};
  return gen::Error(
      gen::ErrorCode::kIncorrect,
      fmt::format("{}: {} outside {}..{}, the bounds of autoscale", function,
                  core::Counted(static_cast<std::uint64_t>(workers), "worker is", "workers are"),
                  bounds.min, bounds.max));
}

void PoolRunner::Tell(gen::Inspection& inspection) const {
  if (!autoscaler_) return;
  using Seconds = std::chrono::duration<double>;
  const PoolAutoscale& options = *options_.autoscale;
  inspection.insert_or_assign(
      "autoscale",
      fmt::format("{}..{} workers, a wait of {}{}", options.min, options.max,
                  core::RoundTime(options.target_wait), is_resting_ ? ", at rest" : ""));
  int number = 0;
  for (const PoolDecision& decision : autoscaler_->decisions()) {
    const Seconds past = std::chrono::nanoseconds(host_.Now() - decision.at);
    inspection.insert_or_assign(fmt::format("autoscale.{}", ++number),
                                fmt::format("{:.3f} s ago: {}", past.count(), decision.ToString()));
  }
}

}  // namespace ergon::act
