// Blocking stretches: the handler's fiber moves to a thread of its own, and back.
//
// Meanwhile the process is scheduled as a detached one is: dispatcher_ is that thread's, so that a Call
// inside the stretch comes back to it.
#include <ergon/core/foundations/fatal.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/process/runner.h>
#include <ergon/node/spawning/blocking_threads.h>
#include <ergon/node/spawning/fork_guard.h>

namespace ergon::node {

// On the worker, with the right to run.
void ProcessRunner::LendHook(void* context, core::Fiber& fiber, core::Fiber& /*to*/) {
  auto* process = static_cast<ProcessRunner*>(context);
  process->parked_ = &fiber;
  process->yielded_ = true;
  process->Schedule();
}

// On the lent thread. Nobody else may find the process on a dispatcher that is given away.
void ProcessRunner::ReturnHook(void* context, core::Fiber& fiber, core::Fiber& /*to*/) {
  auto* process = static_cast<ProcessRunner*>(context);
  const Rooms& rooms = process->rooms_;
  core::Dispatcher& lent = *process->dispatcher_;
  process->parked_ = &fiber;
  process->yielded_ = true;
  process->dispatcher_ = &rooms.dispatcher;
  // First: once it is scheduled, the process may end, and the node with it.
  rooms.blocking_threads.TakeBack(lent);
  rooms.dispatcher.Schedule(*process);
}

bool ProcessRunner::BeginBlocking() noexcept {
  if (!rooms_.dispatcher.HasThreads() || dispatcher_ != &rooms_.dispatcher) return false;
  if (rooms_.fork_guard.IsForked()) return false;
  if (gen::detail::HeldMutexes() != 0) {
    Lines().Warning("no thread is lent: {}", HeldMutexText("gen::Blocking"));
    return false;
  }
  core::Dispatcher* const lent = rooms_.blocking_threads.Lend(rooms_.dispatcher.options());
  if (lent == nullptr) return false;
  dispatcher_ = lent;
  const bool parked = core::Worker::Park(&LendHook, this);
  SetCurrentProcess(this);
  if (parked) return true;
  // No stack for others: then they have to wait.
  dispatcher_ = &rooms_.dispatcher;
  rooms_.blocking_threads.TakeBack(*lent);
  return false;
}

void ProcessRunner::EndBlocking() noexcept {
  if (gen::detail::HeldMutexes() != 0) {
    core::Fatal("gen::Blocking", HeldMutexText("the end of a gen::Blocking").c_str());
  }
  // The thread's own loop has left it a stack when it resumed this one.
  if (!ParkReady(&ReturnHook)) core::Fatal("gen::Blocking", "no way back");
  pace_.NoteWait();
  if (heir_) NotePace(false);
}

const gen::BlockingRuntime& ProcessRunner::BlockingCalls() {
  static constexpr gen::BlockingRuntime kRuntime{
      []() noexcept -> void* {
        ProcessRunner* const process = CurrentProcess();
        return process != nullptr && process->BeginBlocking() ? process : nullptr;
      },
      [](void* lent) noexcept { static_cast<ProcessRunner*>(lent)->EndBlocking(); }};
  return kRuntime;
}

}  // namespace ergon::node
