#include <ergon/node/process/async_operation.h>

#include <mutex>
#include <stdexcept>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/fatal.h>
#include <ergon/core/foundations/number_text.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/time/deadline.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/io/io_thread.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/pending_wait.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {
namespace {

ProcessRunner& Current() {
  ProcessRunner* process = CurrentProcess();
  if (process == nullptr) throw std::logic_error("Await: called outside of a process's handlers");
  return *process;
}

}  // namespace

AsyncOperation::AsyncOperation()
    : process_(Current()),
      pid_(process_.Self()),
      signal_(core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse),
                               core::Lane::kMain)) {
  (void)io();  // or there is none
  process_.CheckMaySuspend("Await");
  PendingWait(process_).Withdraw();  // so that Wait has the memory that it needs
}

bool AsyncOperation::MustEnd(bool until_stop) { return Current().MustEndWait(until_stop); }

void AsyncOperation::LogNegative(std::chrono::nanoseconds timeout) {
  Current().Lines().Error("Await: timeout: {}, must not be negative", core::ExactTime(timeout));
}

IoThread& AsyncOperation::io() const {
  IoThread* const io = process_.rooms().io.get();
  if (io == nullptr) core::Fatal("Await", "a node with a clock of its own has no I/O");
  return *io;
}

asio::io_context& AsyncOperation::io_context() const { return io().context(); }

OtherIo& AsyncOperation::other_io(MakeOtherIo make) const { return io().Other(make); }

void AsyncOperation::Completed() {
  std::uint64_t id = 0;
  {
    std::lock_guard lock(lock_);
    completed_ = true;
    id = id_;
  }
  done_.Set();
  if (id != 0) (void)process_.rooms().delivery.Respond(pid_, id, std::move(signal_));
}

bool AsyncOperation::BeginWait() {
  std::lock_guard lock(lock_);
  if (completed_) return false;
  id_ = NextUniqueId();
  process_.BeginWait(id_);
  return true;
}

AsyncOperation::End AsyncOperation::Wait(std::chrono::nanoseconds timeout, bool until_stop) {
  // Not before: what has started the operation may itself have waited for something.
  if (!BeginWait()) return End::kCompleted;
  core::Envelope* signal = nullptr;
  const std::int64_t now = process_.rooms().clock.Now();
  const auto deadline = timeout == gen::kInfinite ? 0 : core::DeadlineAfter(now, timeout);
  auto outcome = process_.Wait(id_, deadline, signal,
                               until_stop ? ProcessRunner::Interruption::kSignalsStops
                                          : ProcessRunner::Interruption::kSignals);
  const core::EnvelopePtr first(signal);
  End end = End::kNoStack;
  if (outcome && *outcome == core::AwaitOutcome::kResponse) return End::kCompleted;
  if (outcome && *outcome == core::AwaitOutcome::kExpired) end = End::kTimedOut;
  if (!outcome && outcome.error() == gen::ErrProcessTerminated) end = End::kInterrupted;
  if (!BeginWait()) return End::kCompleted;
  Cancel();
  outcome = process_.Wait(id_, 0, signal, ProcessRunner::Interruption::kNothing);
  const core::EnvelopePtr second(outcome ? signal : nullptr);
  if (!outcome) done_.Wait();  // no stack: it cannot but keep its thread
  return end;
}

}  // namespace ergon::node
