#include <ergon/node/async_operation.h>

#include <mutex>
#include <stdexcept>

#include <ergon/core/foundations/fatal.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/node/await.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/node.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/time/deadline.h>

namespace ergon::node {
namespace {

Process& Current() {
  Process* process = CurrentProcess();
  if (process == nullptr) throw std::logic_error("Await: called outside of a process's handlers");
  return *process;
}

}  // namespace

AsyncOperation::AsyncOperation() : process_(Current()), pid_(process_.Self()), id_(NextUniqueId()) {
  (void)process_.runtime_->Io();  // or there is none
  process_.CheckMaySuspend("Await");
  process_.await_.Begin(id_);
}

void AsyncOperation::LogNegative(std::chrono::nanoseconds timeout) {
  Current().Log().Error("Await: timeout: {} ns, must not be negative", timeout.count());
}

asio::io_context& AsyncOperation::io_context() const { return process_.runtime_->Io(); }

void AsyncOperation::Completed() {
  std::uint64_t id = 0;
  {
    std::lock_guard lock(lock_);
    completed_ = true;
    id = id_;
  }
  done_.Set();
  (void)process_.runtime_->Respond(
      pid_, id,
      core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse), core::Lane::kMain));
}

AsyncOperation::End AsyncOperation::Wait(std::chrono::nanoseconds timeout, bool until_stop) {
  core::Envelope* signal = nullptr;
  if (until_stop) process_.interruption_ = Process::Interruption::kSignalsStops;
  const auto deadline = timeout == gen::kInfinite ? 0 : DeadlineAfter(process_.Now(), timeout);
  auto outcome = process_.Wait(id_, deadline, signal);
  process_.interruption_ = Process::Interruption::kSignals;
  const core::EnvelopePtr first(signal);
  End end = End::kNoStack;
  if (outcome && *outcome == core::AwaitOutcome::kResponse) return End::kCompleted;
  if (outcome && *outcome == core::AwaitOutcome::kExpired) end = End::kTimedOut;
  if (!outcome && outcome.error() == gen::ErrProcessTerminated) end = End::kInterrupted;
  {
    std::lock_guard lock(lock_);
    if (completed_) return End::kCompleted;
    id_ = NextUniqueId();
    process_.await_.Begin(id_);
  }
  Cancel();
  process_.interruption_ = Process::Interruption::kNothing;
  outcome = process_.Wait(id_, 0, signal);
  process_.interruption_ = Process::Interruption::kSignals;
  const core::EnvelopePtr second(outcome ? signal : nullptr);
  if (!outcome) done_.Wait();  // no stack: it cannot but keep its thread
  return end;
}

asio::io_context& IoContext(gen::Node& node) {
  if (auto* runtime = dynamic_cast<Runtime*>(&node)) return runtime->Io();
  if (auto* owner = dynamic_cast<Node*>(&node)) return owner->runtime_->Io();
  throw std::logic_error("IoContext: not a node that node::Start has made");
}

}  // namespace ergon::node
