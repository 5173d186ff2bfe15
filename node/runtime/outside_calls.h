// Calls and waits of threads that do not run processes.
#pragma once

#include <chrono>
#include <functional>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/gen/target.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/message_totals.h>
#include <ergon/node/delivery/pending_calls.h>
#include <ergon/node/spawning/fork_guard.h>
#include <ergon/node/spawning/spawn_request.h>
#include <ergon/node/spawning/spawning.h>

namespace ergon::node {

// Any thread. The functions are described at gen::Node.
class OutsideCalls {
 public:
  // What it needs; all of it outlives this.
  struct Needs {
    const Addresses& addresses;
    Delivery& delivery;
    BackPressure& back_pressure;
    Spawning& spawning;
    PendingCalls& pending_calls;
    MessageTotals& totals;
    core::Dispatcher& dispatcher;
    const core::Clock& clock;
    const ForkGuard& fork_guard;
  };
  explicit OutsideCalls(const Needs& needs) : needs_(needs) {}

  // Returns kNotAllowed on a thread that runs processes or a node's I/O, with the name of the node's function.
  [[nodiscard]] gen::Result<void> CheckMayBlock(const char* function) const;

  // Spawns a process, and returns when its Init is done. A name that somebody has who is killed is waited for.
  gen::Result<gen::PID> Spawn(const SpawnRequest& request);
  void CallAsync(const gen::Target& to, core::EnvelopePtr request, std::chrono::nanoseconds timeout,
                 std::function<void(gen::Result<core::EnvelopePtr>)> done);
  gen::Result<core::EnvelopePtr> Call(const gen::Target& to, core::EnvelopePtr request,
                                      std::chrono::nanoseconds timeout);
  gen::Result<void> SendOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                               std::chrono::nanoseconds timeout);
  // Sends to another node, and waits until that node confirms the message.
  gen::Result<void> SendImportant(gen::PID to, core::EnvelopePtr& envelope);
  gen::Result<void> WaitProcess(const gen::Target& to, std::chrono::nanoseconds timeout);
  // Suspends or resumes a process: `kind` is kSuspend or kResume.
  gen::Result<void> AskToHold(const gen::Target& to, gen::EnvelopeKind kind,
                              std::chrono::nanoseconds timeout);

 private:
  gen::Result<gen::PID> SpawnOnce(const SpawnRequest& request);
  // Begins with `begin(done)` what will call `done` once, and blocks until then. Returns what `done` was given.
  template <class Begin>
  gen::Result<core::EnvelopePtr> AwaitAnswer(const Begin& begin);
  // Sends with `send(id)`, and blocks until that id has its answer, or until the deadline (Clock ns; 0: none).
  template <class Send>
  gen::Result<core::EnvelopePtr> AwaitAnswerTo(std::int64_t deadline, const Send& send);
  // Blocks until there may be room on the way to the node of `to`. `deadline`: Clock ns, 0: none.
  gen::Result<void> AwaitRoom(gen::PID to, std::int64_t deadline);

  const Needs needs_;
};

}  // namespace ergon::node
