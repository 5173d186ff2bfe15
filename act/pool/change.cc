// What is changed of a pool while it runs.
#include <algorithm>
#include <utility>

#include <ergon/act/message_loop.h>
#include <ergon/act/pool/runner.h>

namespace ergon::act {

gen::Result<void> PoolRunner::Change(const PoolChange& change) {
  PoolOptions before = options_;
  before.pool_size = static_cast<int>(size());  // others may have added some
  const PoolOptions wanted = Changed(before, change);
  std::string problem = wanted.Validate();
  if (!problem.empty()) return gen::Error(gen::ErrorCode::kIncorrect, std::move(problem));
  // First what may fail.
  const int more = wanted.pool_size - before.pool_size;
  if (more > 0) {
    auto added = AddWorkers(more);
    if (!added) return std::move(added.error());
  } else if (more < 0) {
    auto removed = RemoveWorkers(-more, true);
    if (!removed) return std::move(removed.error());
  }
  options_ = wanted;  // the other parts refer to them
  spawner_.SetMailboxSize(wanted.worker_mailbox_size);
  routing_.SetRestarts(wanted);
  if (wanted.worker_mailbox_size != before.worker_mailbox_size) {
    for (const gen::PID worker : Workers()) {
      host_.SetWorkerMailboxSize(worker, static_cast<std::uint32_t>(wanted.WorkerBound()));
    }
  }
  forwarder_->OptionsChanged();
  for (const std::string& difference : Differences(wanted, before)) {
    host_.Log().Info("{}", difference);
  }
  return {};
}

void PoolRunner::ChangeAndAnswer(const core::Envelope& envelope, const PoolChange& change) {
  const gen::Result<void> changed =
      running() ? Change(change)
                : gen::Result<void>(gen::Error(gen::ErrorCode::kNotAllowed, "the pool is ending"));
  // Whether somebody still waits does not matter to the one who answers.
  if (changed) {
    (void)host_.SendResponse(SenderOf(envelope), RefOf(envelope), true);
  } else {
    (void)host_.SendResponseError(SenderOf(envelope), RefOf(envelope), changed.error());
  }
}

}  // namespace ergon::act
