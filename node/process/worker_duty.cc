// What a worker tells its pool of the messages that it has handled.
#include <ergon/core/clock.h>
#include <ergon/core/foundations/moving_mean.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/process/runner.h>

namespace ergon::node {

void ProcessRunner::ReportProgress() { rooms_.delivery.ReportProgress(Self(), Parent()); }

void ProcessRunner::DoDuty(gen::WorkerDuty duty, std::int64_t began) {
  if (duty == gen::WorkerDuty::kReport) {
    ReportProgress();
    return;
  }
  if (began == 0) return;  // skipped: that takes no time, and says nothing of the others
  auto& mean_handling = Cold().counts.mean_handling;
  mean_handling.store(
      core::MovingMean(mean_handling.load(std::memory_order_relaxed), rooms_.clock.Now() - began),
      std::memory_order_relaxed);
}

}  // namespace ergon::node
