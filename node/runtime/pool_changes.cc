#include <ergon/node/runtime/pool_changes.h>

#include <utility>

#include <fmt/core.h>

#include <ergon/gen/host/pool_host.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {
namespace {

constexpr gen::CallOptions kToThePool{.priority = gen::MessagePriority::kHigh};

gen::Error ErrorOf(const std::string& name, const gen::Error& error) {
  const std::string_view detail = error.detail();
  return gen::Error(
      error.code(),
      fmt::format("pools.{}: {}", name, detail.empty() ? error.ToString() : std::string(detail)));
}

}  // namespace

// The Init of a worker that fails has such an error, too.
bool PoolChanges::HasGone(gen::PID pool, const gen::Error& error) const {
  return (error == gen::ErrProcessUnknown || error == gen::ErrProcessTerminated) &&
         addresses_.Find(pool) == nullptr;
}

gen::Result<gen::PID> PoolChanges::Find(const std::string& name) const {
  auto pid = addresses_.Resolve(gen::Target(name));
  if (!pid) {
    if (pid.error() == gen::ErrProcessUnknown) return gen::PID();
    return std::move(pid.error());
  }
  const ProcessSlot* const slot = addresses_.Find(*pid);
  if (slot == nullptr) return gen::PID();
  // What is in its Init may become one, and answers when it has started. Asked first: then its workers are seen.
  const bool may_become_one = slot->activity().IsInInit();
  if (!may_become_one && !slot->IsPool()) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("{} is no pool", AsInItsLines(addresses_, *pid)));
  }
  return *pid;
}

gen::Result<void> PoolChanges::Check(gen::Messenger& asks, Step& step) const {
  auto pool = Find(step.name);
  if (!pool) return std::move(pool.error());
  step.pool = *pool;
  if (!step.pool) return {};
  auto before = asks.Call(step.pool, gen::PoolChangeCheck{step.change}, kToThePool);
  if (before) {
    step.before = *before;
  } else if (HasGone(step.pool, before.error())) {
    step.pool = {};
  } else {
    return std::move(before.error());
  }
  return {};
}

gen::Result<void> PoolChanges::Apply(gen::Messenger& asks, const PoolSettings::Changes& changes) {
  std::vector<Step> steps;
  for (const auto& [name, change] : changes) {
    Step& step = steps.emplace_back(Step{name, change, {}, {}});
    auto checked = Check(asks, step);
    if (!checked) return ErrorOf(name, checked.error());
  }
  auto settings = settings_.Add(changes);
  for (Step& step : steps) {  // a pool that has started meanwhile may have looked before that
    if (step.pool) continue;
    auto checked = Check(asks, step);
    if (checked) continue;
    settings_.Set(std::move(settings));
    return ErrorOf(step.name, checked.error());
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    if (!step.pool) continue;
    const auto changed = asks.Call(step.pool, gen::PoolChange(step.change), kToThePool);
    if (changed) continue;
    if (HasGone(step.pool, changed.error())) {
      step.pool = {};
      continue;
    }
    settings_.Set(std::move(settings));
    ChangeBack(asks, steps, i + 1);  // this one, too, which may have begun
    return ErrorOf(step.name, changed.error());
  }
  for (const Step& step : steps) {
    if (step.pool) continue;
    gen::Log(log_).Warning(
        "pools.{}: no pool of that name runs now; the values apply when one starts", step.name);
  }
  return {};
}

void PoolChanges::ChangeBack(gen::Messenger& asks, const std::vector<Step>& steps,
                             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = steps[i];
    if (!step.pool) continue;
    const auto changed = asks.Call(step.pool, gen::PoolChange(step.before), kToThePool);
    if (changed || HasGone(step.pool, changed.error())) continue;
    gen::Log(log_).Error("pools.{}: cannot be changed back: {}", step.name, changed.error());
  }
}

}  // namespace ergon::node
