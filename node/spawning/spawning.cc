#include <ergon/node/spawning/spawning.h>

#include <algorithm>
#include <memory>
#include <typeinfo>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/gen/reason.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

gen::Result<ProcessSlot*> Spawning::Open(const SpawnRequest& request) {
  if (needs_.population.gate().IsClosed()) return gen::ErrNodeTerminated;
  auto checked = CheckProcessOptions(request.options);
  if (!checked) return std::move(checked.error());
  const gen::PID leader = request.options.leader;
  if (leader &&
      (leader.node != needs_.addresses.node() || leader.creation != needs_.addresses.creation())) {
    return Incorrect(fmt::format("leader: {} is no process of this node", leader));
  }
  if (!request.factory) return Incorrect("factory: is empty");
  std::unique_ptr<gen::ProcessBehavior> behavior;
  try {
    behavior = request.factory.Make();
  } catch (...) {
    return gen::Error(gen::ErrorCode::kProcessTerminated,
                      gen::Reason::Panic(core::ThrownText()).ToString());
  }
  if (behavior == nullptr) return Incorrect("factory: returned no behaviour");
  ProcessTable& table = needs_.addresses.table();
  ProcessSlot* slot = table.TakeFree();
  if (slot == nullptr) {
    return gen::Error(gen::ErrorCode::kInternal,
                      fmt::format("more than {} processes", ProcessTable::kMaxProcesses));
  }
  gen::Result<void> opened;
  try {
    opened = slot->Open(request, std::move(behavior));
  } catch (...) {
    table.Give(*slot);
    throw;
  }
  if (!opened) {
    table.Give(*slot);
    return std::move(opened.error());
  }
  const SpawnGate::Entry entry = needs_.population.gate().Enter();
  if (!entry.is_open) {
    slot->Abandon();
    return gen::ErrNodeTerminated;
  }
  slot->SetSequence(entry.place);
  UnbegunProcess unbegun(*slot);
  if (entry.has_levels) needs_.behavior_levels.Give(slot->behavior(), slot->own_log_level());
  if (!request.name.empty()) {
    auto registered =
        needs_.registry.RegisterName(request.name, needs_.addresses.PidOf(slot->Id()));
    if (!registered) return std::move(registered.error());
  }
  if (request.link && !needs_.relations.LinkChild(*slot, request.parent)) {
    return gen::Error(gen::ErrorCode::kProcessTerminated, "the parent is ending");
  }
  unbegun.LetGo();
  return slot;
}

bool Spawning::AwaitName(
    gen::Atom name, gen::PID waiter, std::int64_t deadline,
    const std::function<bool(gen::PID, std::chrono::nanoseconds)>& await_end) const {
  const gen::PID ending = EndingHolderOf(name);
  if (!ending) return !needs_.addresses.names().Find(name);
  const std::chrono::nanoseconds left(std::max<std::int64_t>(deadline - needs_.clock.Now(), 0));
  return MayWaitFor(ending, waiter) && await_end(ending, left);
}

bool Spawning::MayWaitFor(gen::PID ending, gen::PID process) const {
  if (ending == process) return false;
  const Addresses& addresses = needs_.addresses;
  const ProcessSlot* slot = addresses.Find(ending);
  if (slot == nullptr || slot->end_requests().IsKilled(GenerationOf(ending))) return true;
  while (process != ending) {
    slot = addresses.Find(process);
    const std::uint64_t parent = slot == nullptr ? 0 : slot->ParentIdOf(process);
    if (parent == 0) return true;
    process = addresses.PidOf(parent);
  }
  return false;
}

gen::PID Spawning::EndingHolderOf(gen::Atom name) const {
  const Addresses& addresses = needs_.addresses;
  gen::PID pid = addresses.names().Find(name);
  ProcessSlot* process = addresses.Find(pid);
  while (process != nullptr) {
    if (process->end_requests().IsKilled(GenerationOf(pid))) return pid;
    gen::PID parent;
    switch (needs_.relations.LinkWithParent(*process, pid, parent)) {
      case Relations::ParentLink::kEnding:
        return pid;
      case Relations::ParentLink::kNone:
        return {};
      case Relations::ParentLink::kIsThere:
        break;
    }
    process = addresses.Find(parent);
    if (process == nullptr) return pid;  // the parent has ended, and its signal is on the way
    pid = parent;
  }
  return {};
}

gen::Result<gen::PID> Spawning::StartInBackground(const SpawnRequest& request,
                                                  std::function<void(gen::Result<void>)> done) {
  if (needs_.population.RefusesOutsiders()) return gen::ErrNodeTerminated;
  auto opened = Open(request);
  if (!opened) return std::move(opened.error());
  ProcessSlot& slot = **opened;
  UnbegunProcess unbegun(slot);
  const gen::PID pid = needs_.addresses.PidOf(slot.Id());
  const std::uint64_t id = NextUniqueId();
  const gen::ProcessBehavior& behavior = slot.behavior();
  const std::type_info& behavior_type = typeid(behavior);  // the process may end at any time
  slot.AnswerAfterInit(id);
  const auto timeout = request.options.init_timeout;
  const std::int64_t deadline =
      timeout == gen::kInfinite ? 0 : core::DeadlineAfter(needs_.clock.Now(), timeout);
  auto told = [this, pid, &behavior_type, timeout,
               done = std::move(done)](gen::Result<core::EnvelopePtr> answer) {
    gen::Error* error = answer ? (*answer)->ValueAs<gen::Error>() : nullptr;
    if (!answer) error = &answer.error();
    if (!answer && answer.error() == gen::ErrTimeout) {
      // It may compute or block its thread: then it is ended when that is over.
      (void)needs_.exit_signals.Kill(pid);
      *error = Descriptions::InitTimeoutError(pid, behavior_type, timeout);
    }
    done(error == nullptr ? gen::Result<void>() : std::move(*error));
  };
  needs_.pending_calls.Add(id, deadline, {}, std::move(told));
  unbegun.LetGo();
  if (request.opened != nullptr) (*request.opened)(pid);
  slot.Schedule();
  return pid;
}

}  // namespace ergon::node
