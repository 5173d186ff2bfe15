#include <ergon/node/runtime/outside_calls.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/core/turns/worker.h>
#include <ergon/node/delivery/back_pressure.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/io/io_threads.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {
namespace {

struct BlockedThread final : WaitingSender {
  using WaitingSender::WaitingSender;
  void Wake() override { served.Set(); }
  core::Event served;
};

// Returns what `send` returns; an error if there is no memory, for somebody waits already.
template <class Send>
gen::Result<void> SendOrFail(const Send& send) {
  try {
    return send();
  } catch (...) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("the send threw: {}", core::ThrownText()));
  }
}

}  // namespace

gen::Result<void> OutsideCalls::CheckMayBlock(const char* function) const {
  if (needs_.fork_guard.IsForked()) return needs_.fork_guard.Error();
  if (IsIoThread()) {
    return gen::Error(
        gen::ErrorCode::kNotAllowed,
        fmt::format("Node::{} would block a thread of the node's I/O, which fires its "
                    "timers and completes its operations; call it on another thread",
                    function));
  }
  if (core::Worker::Current() == nullptr) return {};
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("Node::{} would block a thread that runs processes; inside a "
                                "handler use the process's own functions",
                                function));
}

gen::Result<gen::PID> OutsideCalls::Spawn(const SpawnRequest& request) {
  auto may_block = CheckMayBlock(FunctionThatSpawns(request));
  if (!may_block) return std::move(may_block.error());
  const std::int64_t deadline =
      core::DeadlineAfter(needs_.clock.Now(), request.options.init_timeout);
  const auto await_end = [this](gen::PID ending, std::chrono::nanoseconds left) {
    return static_cast<bool>(WaitProcess(ending, left));
  };
  for (;;) {
    auto pid = SpawnOnce(request);
    if (pid || pid.error() != gen::ErrTaken || request.name.empty()) return pid;
    if (!needs_.spawning.AwaitName(request.name, {}, deadline, await_end)) return pid;
  }
}

gen::Result<gen::PID> OutsideCalls::SpawnOnce(const SpawnRequest& request) {
  core::Event done;
  gen::Result<void> started;
  auto pid = needs_.spawning.StartInBackground(request, [&](gen::Result<void> outcome) {
    started = std::move(outcome);
    done.Set();
  });
  if (!pid) return pid;
  needs_.dispatcher.Wait(done);
  if (!started) return std::move(started.error());
  return pid;
}

void OutsideCalls::CallAsync(const gen::Target& to, core::EnvelopePtr request,
                             std::chrono::nanoseconds timeout,
                             std::function<void(gen::Result<core::EnvelopePtr>)> done) {
  if (timeout <= std::chrono::nanoseconds::zero()) {
    done(Incorrect(fmt::format("timeout: {}, has to be more than 0", core::ExactTime(timeout))));
    return;
  }
  auto pid = needs_.addresses.Resolve(to);
  if (!pid) {
    done(std::move(pid.error()));
    return;
  }
  if (needs_.addresses.IsStopped()) {
    done(gen::ErrNodeTerminated);
    return;
  }
  const std::uint64_t id = NextUniqueId();
  const std::int64_t now = needs_.clock.Now();
  const std::int64_t deadline = timeout == gen::kInfinite ? 0 : core::DeadlineAfter(now, timeout);
  request->from = needs_.addresses.NodePid().ToAddress();
  request->ref = id;
  request->deadline = deadline;
  const CallEdge::View edge{.id = id,
                            .stage = CallEdge::Stage::kSent,
                            .to = pid->node == needs_.addresses.node() ? pid->id : 0,
                            .type = request->type,
                            .since = now,
                            .ticket = CallEdges::TicketOf(needs_.addresses.Find(*pid), *request)};
  needs_.pending_calls.Add(id, deadline, edge, std::move(done));
  const bool is_message = IsMessage(*request);  // or an inspection
  auto sent = SendOrFail([&] { return needs_.delivery.Deliver(*pid, request); });
  if (sent && is_message) needs_.totals.accepted.Add();
  if (!sent) needs_.pending_calls.Complete(id, std::move(sent.error()));
}

gen::Result<core::EnvelopePtr> OutsideCalls::Call(const gen::Target& to, core::EnvelopePtr request,
                                                  std::chrono::nanoseconds timeout) {
  auto may_block = CheckMayBlock(FunctionThatAsks(*request));
  if (!may_block) return std::move(may_block.error());
  return AwaitAnswer([&](PendingCalls::Done done) {
    CallAsync(to, std::move(request), timeout, std::move(done));
  });
}

template <class Begin>
gen::Result<core::EnvelopePtr> OutsideCalls::AwaitAnswer(const Begin& begin) {
  core::Event done;
  gen::Result<core::EnvelopePtr> answer = gen::ErrNodeTerminated;
  begin([&](gen::Result<core::EnvelopePtr> response) {
    answer = std::move(response);
    done.Set();
  });
  needs_.dispatcher.Wait(done);
  return answer;
}

template <class Send>
gen::Result<core::EnvelopePtr> OutsideCalls::AwaitAnswerTo(std::int64_t deadline,
                                                           const Send& send) {
  return AwaitAnswer([&](PendingCalls::Done done) {
    const std::uint64_t id = NextUniqueId();
    needs_.pending_calls.Add(id, deadline, {}, std::move(done));
    auto sent = SendOrFail([&] { return send(id); });
    if (!sent) needs_.pending_calls.Complete(id, std::move(sent.error()));
  });
}

gen::Result<void> OutsideCalls::WaitProcess(const gen::Target& to,
                                            std::chrono::nanoseconds timeout) {
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  const bool waits = timeout.count() != 0;
  auto may_block = waits ? CheckMayBlock("WaitProcess") : gen::Result<void>();
  if (!may_block) return may_block;
  auto pid = needs_.addresses.Resolve(to);
  if (!pid) return std::move(pid.error());
  auto unless_it_lived = [&]() -> gen::Result<void> {
    gen::Error why = needs_.addresses.WhyUnreachable(*pid);
    if (why == gen::ErrProcessTerminated || why == gen::ErrNodeTerminated) return {};
    return why;
  };
  ProcessSlot* process = needs_.addresses.FindSlot(*pid);
  if (process == nullptr || !process->IsYetToEnd(*pid)) return unless_it_lived();
  core::Event ended;
  ProcessCold& cold = process->Cold();
  {
    std::lock_guard lock(cold.lock);
    if (!process->IsYetToEnd(*pid)) return unless_it_lived();
    if (!waits) return gen::ErrTimeout;
    cold.waiters.push_back(&ended);
  }
  if (timeout == gen::kInfinite) {
    needs_.dispatcher.Wait(ended);
    return {};
  }
  if (needs_.dispatcher.WaitFor(ended, timeout.count())) return {};
  {
    std::lock_guard lock(cold.lock);
    if (std::erase(cold.waiters, &ended) != 0) return gen::ErrTimeout;
  }
  needs_.dispatcher.Wait(ended);  // it is being set just now
  return {};
}

gen::Result<void> OutsideCalls::AskToHold(const gen::Target& to, gen::EnvelopeKind kind,
                                          std::chrono::nanoseconds timeout) {
  auto answer =
      Call(to, core::MakeSignal(static_cast<std::uint8_t>(kind), core::Lane::kUrgent), timeout);
  if (!answer) return std::move(answer.error());
  if (auto* error = (*answer)->ValueAs<gen::Error>()) return std::move(*error);
  return {};
}

gen::Result<void> OutsideCalls::SendImportant(gen::PID to, core::EnvelopePtr& envelope) {
  auto may_block = CheckMayBlock("SendImportant");
  if (!may_block) return may_block;
  auto answer = AwaitAnswerTo(0, [&](std::uint64_t id) {
    return needs_.addresses.TransportTo(to)->SendImportant(to, *envelope,
                                                           needs_.addresses.NodePid(), id);
  });
  if (!answer) return std::move(answer.error());
  if (auto* error = (*answer)->ValueAs<gen::Error>()) return std::move(*error);
  needs_.totals.given_to_nodes.Add();
  needs_.totals.accepted.Add();
  envelope.reset();
  return {};
}

gen::Result<void> OutsideCalls::AwaitRoom(gen::PID to, std::int64_t deadline) {
  Transport* const transport = needs_.addresses.TransportTo(to);
  if (transport == nullptr) return {};
  auto told = AwaitAnswerTo(deadline, [&](std::uint64_t id) -> gen::Result<void> {
    transport->AwaitRoom(to.node, needs_.addresses.NodePid(), id);
    return {};
  });
  if (told) return {};
  if (told.error() != gen::ErrTimeout) return std::move(told.error());
  return gen::Error(gen::ErrorCode::kTimeout,
                    fmt::format("too much waits to be sent to {}", to.node));
}

gen::Result<void> OutsideCalls::SendOrWait(const gen::Target& to, core::EnvelopePtr& envelope,
                                           std::chrono::nanoseconds timeout) {
  auto may_block = CheckMayBlock("SendOrWait");
  if (!may_block) return may_block;
  auto checked = CheckNotNegative("timeout", timeout);
  if (!checked) return checked;
  auto pid = needs_.addresses.Resolve(to);
  if (!pid) return std::move(pid.error());
  envelope->from = needs_.addresses.NodePid().ToAddress();
  needs_.delivery.NoteSent(*envelope);
  const bool may_wait = timeout != std::chrono::nanoseconds::zero();
  const std::int64_t deadline =
      timeout == gen::kInfinite ? 0 : core::DeadlineAfter(needs_.clock.Now(), timeout);
  // As often as the way to another node is full, again when there is room.
  const auto again_with_room = [&](gen::Result<void> sent, const auto& send) {
    while (may_wait && !sent && sent.error() == gen::ErrBusy) {
      sent = AwaitRoom(*pid, deadline);
      if (sent) sent = send();
    }
    return sent;
  };
  auto sent = again_with_room(needs_.back_pressure.TryDeliver(*pid, envelope, may_wait),
                              [&] { return needs_.delivery.Deliver(*pid, envelope); });
  if (may_wait && !sent && sent.error() == gen::ErrProcessMailboxFull) {
    BlockedThread thread(*pid, envelope);
    needs_.back_pressure.Enter(thread);
    if (timeout == gen::kInfinite) {
      needs_.dispatcher.Wait(thread.served);
    } else {
      (void)needs_.dispatcher.WaitFor(thread.served, timeout.count());
    }
    if (!needs_.back_pressure.Leave(thread)) sent = std::move(thread.outcome);
  }
  if (!sent && IsImportant(*envelope) && needs_.addresses.TransportTo(*pid) != nullptr) {
    const auto send_important = [&] { return SendImportant(*pid, envelope); };
    return again_with_room(send_important(), send_important);
  }
  if (sent) needs_.totals.accepted.Add();
  return sent;
}

}  // namespace ergon::node
