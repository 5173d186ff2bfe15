#include <ergon/core/foundations/demangle.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/diagnosis/descriptions.h>

#include <mutex>

#include <fmt/core.h>

#include <ergon/node/diagnosis/for_people.h>

namespace ergon::node {

gen::Atom NameOf(const Addresses& addresses, gen::PID pid) {
  const ProcessSlot* const slot = addresses.Find(pid);
  if (slot == nullptr) return {};
  ProcessCold& cold = slot->Cold();
  std::lock_guard lock(cold.lock);
  return slot->IsStill(pid) ? cold.name : gen::Atom();
}

std::string OfPool(gen::PID pool, gen::Atom name) {
  return name.empty() ? fmt::format(" of pool {}", pool) : fmt::format(" of pool '{}'", name);
}

std::string LevelText(std::uint8_t level) {
  return level == ProcessSlot::kNodeLogLevel
             ? std::string("the node's")
             : std::string(gen::ToString(static_cast<gen::LogLevel>(level)));
}

std::string AsInItsLines(const Addresses& addresses, gen::PID pid) {
  std::string text = pid.ToString();
  const ProcessSlot* const process = addresses.Find(pid);
  if (process == nullptr) return text;
  const gen::PID parent = addresses.PidOf(process->parent_id());
  bool is_worker = false;
  {
    ProcessCold& cold = process->Cold();
    std::lock_guard lock(cold.lock);
    if (!process->IsStill(pid)) return text;
    if (!cold.name.empty()) text += fmt::format(" '{}'", cold.name);
    text += " " + gen::BehaviorNameOf(process->behavior());
    is_worker = process->is_worker();
  }
  return is_worker ? text + OfPool(parent, NameOf(addresses, parent)) : text;
}

gen::Error Descriptions::TimeoutError(const CallEdge::View& call) const {
  // Which of the two is certain (delivery/request_claims.h), what follows is a look at others that go on. A
  // signal is heeded in any case.
  const char* const fate = call.type == nullptr ? ""
                           : call.to == 0       ? "; whether the request is handled is not known"
                           : call.begun         ? ", though the request was being handled"
                                                : ", and the request will not be handled";
  return gen::Error(gen::ErrorCode::kTimeout,
                    fmt::format("no answer to {} within {}{}: {}", TypeForPeople(call.type),
                                ForPeople(clock_.Now() - call.since), fate, CalleeState(call)));
}

gen::Error Descriptions::InitTimeoutError(gen::PID pid, const std::type_info& behavior,
                                          std::chrono::nanoseconds timeout) {
  return gen::Error(gen::ErrorCode::kTimeout,
                    fmt::format("Init of {} ({}) has not ended within {}", pid,
                                core::Demangle(behavior.name()), ForPeople(timeout.count())));
}

std::string Descriptions::DescribeCallee(std::uint64_t to) const {
  return to == 0 ? std::string("a process of another node") : Describe(addresses_.PidOf(to));
}

std::string Descriptions::Describe(gen::PID pid) const {
  const ProcessSlot* process = addresses_.Find(pid);
  if (process == nullptr) return pid.ToString();
  ProcessCold& cold = process->Cold();
  std::lock_guard lock(cold.lock);
  if (!process->IsStill(pid)) {
    return pid.ToString();
  }
  // Fixed from spawn to end, and the end of the process waits for the lock above.
  return fmt::format("{} ({})", pid, gen::BehaviorNameOf(process->behavior()));
}

std::string Descriptions::CalleeState(const CallEdge::View& call) const {
  if (call.to == 0) return "the request was for a process of another node";
  const gen::PID to = addresses_.PidOf(call.to);
  const std::string who = Describe(to);
  const ProcessSlot* process = addresses_.Find(to);
  if (process == nullptr) return who + " has ended";
  if (call.stage == CallEdge::Stage::kLeftOpen) return who + " has handled it without an answer";
  // Not so for a pool that has passed on what nobody has begun with.
  if (call.stage == CallEdge::Stage::kPassedOn && call.begun) {
    return who + " has put it aside or passed it on";
  }
  return who + (process->IsPool() ? PoolState(*process->pool(), call) : ActivityOf(*process, call));
}

std::string Descriptions::PoolState(const PoolSlot& pool, const CallEdge::View& call) const {
  const std::uint32_t size = pool.rotation.size();
  std::uint64_t waiting = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const gen::PID pid = addresses_.PidOf(pool.rotation.At(i));
    const ProcessSlot* worker = addresses_.Find(pid);
    if (worker == nullptr) continue;
    if (worker->activity().IsWith(call.id)) {
      CallEdge::View at_worker = call;
      at_worker.to = pid.id;
      return ": its worker " + CalleeState(at_worker);
    }
    waiting += worker->MainMessagesApprox();
  }
  return fmt::format(": none of its workers ({}) has begun with it; messages that wait there: {}",
                     size, waiting);
}

std::string Descriptions::ActivityOf(const ProcessSlot& process, const CallEdge::View& call) const {
  const std::int64_t now = clock_.Now();
  const Activity& activity = process.activity();
  const gen::ProcessState state = process.State();
  // A suspended process has a turn for each message that comes, in which it handles nothing.
  const bool only_looks =
      process.IsHeld() && state == gen::ProcessState::kRunning && activity.type() == nullptr;
  const bool handles = activity.IsInHandler() && !only_looks;
  const bool reached = handles && activity.IsWith(call.id);
  std::string text;
  if (handles && activity.type() == nullptr) {  // of these no time is noted
    text = " is busy with " + HandledForPeople(activity);
  } else if (handles) {
    text =
        fmt::format(" has been handling {} for {}", reached ? "it" : TypeForPeople(activity.type()),
                    ForPeople(HandlingTime(activity.since(), now)));
  } else if (process.IsHeld()) {
    text = " is suspended";
  } else {
    text = fmt::format(" is {}", ToString(state));
  }
  if (state == gen::ProcessState::kReady && (handles || !process.IsHeld())) {
    text += " and waits for a thread";
  }
  if (const std::uint64_t child = process.starting_child(); child != 0) {
    text += fmt::format(", and waits for the Init of {}", Describe(addresses_.PidOf(child)));
  } else if (state == gen::ProcessState::kWaiting) {
    const CallEdge::View edge = process.Waited();
    text += edge.id == 0
                ? std::string(" and sleeps or waits")
                : fmt::format(" and has waited for {} to answer {} for {}", DescribeCallee(edge.to),
                              TypeForPeople(edge.type), ForPeople(now - edge.since));
  }
  if (reached) return text;
  const std::uint64_t waiting = process.MainMessagesApprox();
  const std::uint32_t position =
      (call.ticket - process.mailbox().TakenApprox()) & core::DispatchState::kCountMask;
  if (call.ticket != 0 && position != 0 && position <= waiting) {
    text += fmt::format("; the request is at about position {} of its mailbox", position);
  } else if (waiting != 0) {
    text += fmt::format("; messages that wait in its mailbox: {}", waiting);
  }
  return text;
}

}  // namespace ergon::node
