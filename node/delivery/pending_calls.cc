#include <ergon/node/delivery/pending_calls.h>

#include <vector>

#include <ergon/core/foundations/tell_thrown.h>

namespace ergon::node {

void PendingCalls::TimeIsUp(void* context, std::uint64_t id) {
  static_cast<PendingCalls*>(context)->Expire(id);
}

void PendingCalls::Expire(std::uint64_t id) {
  const std::unique_ptr<Call> call = Take(id);
  if (call != nullptr) Finish(*call, describe_(call->edge));
}

void PendingCalls::Finish(Call& call, gen::Result<core::EnvelopePtr> outcome) {
  core::CallUser("the function of CallEnvelopeAsync", [&] { call.done(std::move(outcome)); });
}

void PendingCalls::Add(std::uint64_t id, std::int64_t deadline, const CallEdge::View& edge,
                       Done done) {
  auto call = std::make_unique<Call>();
  call->done = std::move(done);
  call->edge = edge;
  call->timer.fire = &PendingCalls::TimeIsUp;
  call->timer.context = this;
  call->timer.argument = id;
  Shard& shard = ShardOf(id);
  std::lock_guard lock(shard.mutex);
  Call& added = *shard.calls.emplace(id, std::move(call)).first->second;
  // Armed under the lock: Complete finds the call with its timer, or not at all.
  if (deadline != 0) timers_.Arm(added.timer, deadline);
}

void PendingCalls::NoteTaken(std::uint64_t id, CallEdge::Stage stage) {
  Shard& shard = ShardOf(id);
  std::lock_guard lock(shard.mutex);
  auto found = shard.calls.find(id);
  if (found != shard.calls.end()) found->second->edge.stage = stage;
}

CallEdge::View PendingCalls::EdgeOf(std::uint64_t id) {
  Shard& shard = ShardOf(id);
  std::lock_guard lock(shard.mutex);
  auto found = shard.calls.find(id);
  return found == shard.calls.end() ? CallEdge::View() : found->second->edge;
}

bool PendingCalls::NoteBegun(std::uint64_t id) {
  Shard& shard = ShardOf(id);
  std::lock_guard lock(shard.mutex);
  auto found = shard.calls.find(id);
  if (found == shard.calls.end()) return false;
  found->second->edge.begun = true;
  return true;
}

std::unique_ptr<PendingCalls::Call> PendingCalls::Take(std::uint64_t id) {
  std::unique_ptr<Call> call;
  {
    Shard& shard = ShardOf(id);
    std::lock_guard lock(shard.mutex);
    auto found = shard.calls.find(id);
    if (found == shard.calls.end()) return nullptr;
    call = std::move(found->second);
    shard.calls.erase(found);
  }
  // A timer that is firing finds nobody under this id.
  (void)timers_.Disarm(call->timer);
  return call;
}

bool PendingCalls::Complete(std::uint64_t id, gen::Result<core::EnvelopePtr> response) {
  const std::unique_ptr<Call> call = Take(id);
  if (call == nullptr) return false;
  Finish(*call, std::move(response));
  return true;
}

bool PendingCalls::IsAwaited(std::uint64_t id) const {
  const Shard& shard = shards_[id % kShards];
  std::lock_guard lock(shard.mutex);
  return shard.calls.contains(id);
}

void PendingCalls::FailAll(const gen::Error& error) {
  for (Shard& shard : shards_) {
    std::vector<std::uint64_t> ids;
    {
      std::lock_guard lock(shard.mutex);
      for (const auto& [id, call] : shard.calls) ids.push_back(id);
    }
    for (const std::uint64_t id : ids) Complete(id, error);
  }
}

}  // namespace ergon::node
