// What is changed of a pool while it runs.
#include <algorithm>
#include <string>
#include <utility>

#include <ergon/act/message_loop.h>
#include <ergon/act/pool/runner.h>

namespace ergon::act {

PoolOptions PoolRunner::OptionsNow() const {
  PoolOptions now = options_;
  now.pool_size = static_cast<int>(size());  // others may have added some
  return now;
}

gen::Result<PoolOptions> PoolRunner::Wanted(const PoolChange& change) const {
  if (!running()) return gen::Error(gen::ErrorCode::kNotAllowed, "the pool is ending");
  PoolOptions wanted = Changed(OptionsNow(), change);
  std::string problem = Misfit(options_, change);
  if (problem.empty()) problem = ByNamesOfChange(wanted.Validate());
  if (!problem.empty()) return gen::Error(gen::ErrorCode::kIncorrect, std::move(problem));
  return wanted;
}

gen::Result<void> PoolRunner::Change(const PoolChange& change) {
  const PoolOptions before = OptionsNow();
  auto valid = Wanted(change);
  if (!valid) return std::move(valid.error());
  const PoolOptions& wanted = *valid;
  // First what may fail.
  const int more = wanted.pool_size - before.pool_size;
  if (more > 0) {
    auto added = Grow(more);
    if (!added) return std::move(added.error());
  } else if (more < 0) {
    auto removed = Reduce(-more, true);
    if (!removed) return std::move(removed.error());
  }
  options_ = wanted;  // the other parts refer to them
  if (autoscaler_) autoscaler_->SetOptions(*wanted.autoscale);
  if (more != 0 || wanted.autoscale != before.autoscale) ResizedByOthers();
  spawner_.SetMailbox(wanted);
  replacement_.SetRestarts(wanted);
  if (wanted.WorkerBound() != before.WorkerBound()) {
    for (const gen::PID worker : Workers()) {
      host_.SetWorkerMailboxSize(worker, static_cast<std::uint32_t>(wanted.WorkerBound()));
    }
  }
  forwarder_->OptionsChanged();
  LogDifferences(before);
  return {};
}

void PoolRunner::LogDifferences(const PoolOptions& before) {
  for (const std::string& difference : Differences(OptionsNow(), before)) {
    host_.LogChange(difference);
  }
}

bool PoolRunner::TakeChange(core::Envelope& envelope) {
  gen::Result<void> done;
  // Whether somebody still waits does not matter to the one who answers.
  if (const auto* change = envelope.ValueAs<PoolChange>()) {
    done = Change(*change);
    if (done) (void)host_.SendResponse(SenderOf(envelope), RefOf(envelope), true);
  } else if (const auto* check = envelope.ValueAs<gen::PoolChangeCheck>()) {
    const auto wanted = Wanted(check->change);
    if (!wanted) done = wanted.error();
    if (wanted) {
      const PoolOptions now = OptionsNow();
      PoolChange before = check->change.Of(now.Changeable());
      // Bounds change the size, too. Others may have added workers beyond them.
      if (wanted->pool_size != now.pool_size) {
        const auto& bounds = now.autoscale;
        before.pool_size =
            bounds ? std::clamp(now.pool_size, bounds->min, bounds->max) : now.pool_size;
      }
      (void)host_.SendResponse(SenderOf(envelope), RefOf(envelope), std::move(before));
    }
  } else {
    return false;
  }
  if (!done) (void)host_.SendResponseError(SenderOf(envelope), RefOf(envelope), done.error());
  return true;
}

}  // namespace ergon::act
