// Blocking stretches: the handler's fiber moves to a thread of its own, and back.
//
// Meanwhile the process is scheduled as a detached one is: dispatcher_ is that thread's, so that a Call
// inside the stretch comes back to it.
#include <ergon/core/foundations/fatal.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/current_process.h>
#include <ergon/node/process/process.h>

namespace ergon::node {

// On the worker, with the right to run.
void Process::LendHook(void* context, core::Fiber& fiber) {
  auto* process = static_cast<Process*>(context);
  process->parked_ = &fiber;
  process->yielded_ = true;
  process->dispatcher_->Schedule(*process);
}

// On the lent thread. Nobody else may find the process on a dispatcher that is given away.
void Process::ReturnHook(void* context, core::Fiber& fiber) {
  auto* process = static_cast<Process*>(context);
  Runtime& runtime = *process->runtime_;
  core::Dispatcher& lent = *process->dispatcher_;
  process->parked_ = &fiber;
  process->yielded_ = true;
  process->dispatcher_ = &runtime.dispatcher();
  // First: once it is scheduled, the process may end, and the node with it.
  runtime.lent_threads().TakeBack(lent);
  runtime.dispatcher().Schedule(*process);
}

bool Process::BeginBlocking() noexcept {
  if (!runtime_->HasThreads() || dispatcher_ != &runtime_->dispatcher()) return false;
  if (runtime_->IsForked()) return false;
  if (gen::detail::HeldMutexes() != 0) {
    Log().Warning("no thread is lent: {}", HeldMutexText("gen::Blocking"));
    return false;
  }
  core::Dispatcher* const lent = runtime_->lent_threads().Lend(runtime_->dispatcher().options());
  if (lent == nullptr) return false;
  dispatcher_ = lent;
  const bool parked = core::Worker::Park(&LendHook, this);
  SetCurrentProcess(this);
  if (parked) return true;
  // No stack for others: then they have to wait.
  dispatcher_ = &runtime_->dispatcher();
  runtime_->lent_threads().TakeBack(*lent);
  return false;
}

void Process::EndBlocking() noexcept {
  if (gen::detail::HeldMutexes() != 0) {
    core::Fatal("gen::Blocking", HeldMutexText("the end of a gen::Blocking").c_str());
  }
  // The thread's own loop has left it a stack when it resumed this one.
  if (!core::Worker::Park(&ReturnHook, this)) core::Fatal("gen::Blocking", "no way back");
  SetCurrentProcess(this);
  pace_.NoteWait();
}

const gen::BlockingRuntime& Process::BlockingCalls() {
  static constexpr gen::BlockingRuntime kRuntime{
      []() noexcept -> void* {
        Process* const process = CurrentProcess();
        return process != nullptr && process->BeginBlocking() ? process : nullptr;
      },
      [](void* lent) noexcept { static_cast<Process*>(lent)->EndBlocking(); }};
  return kRuntime;
}

}  // namespace ergon::node
