#include <ergon/node/runtime/level_changes.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include <ergon/gen/log.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/diagnosis/descriptions.h>
#include <ergon/node/process_state/slot.h>

namespace ergon::node {
namespace {

struct Found {
  std::size_t processes = 0;
  std::map<std::uint8_t, std::size_t> changed;  // by the level before
};

std::string TextBefore(const BehaviorLogLevels& before, const std::string& name,
                       const Found& found) {
  const auto was = before.find(name);
  std::string text =
      was == before.end() ? "not given" : LevelText(BehaviorLevels::ValueOf(was->second));
  for (const auto& [level, count] : found.changed) {
    text += fmt::format(", {} in {} process{}", LevelText(level), count, count == 1 ? "" : "es");
  }
  return text;
}

}  // namespace

void LevelChanges::Apply(const BehaviorLogLevels& levels) {
  if (levels.empty()) return;
  // First: a process that is spawned meanwhile has the new level, or is found.
  const BehaviorLogLevels before = levels_.Add(levels);
  std::map<std::string, Found> all;
  addresses_.table().ForEach([&](ProcessSlot& process) {
    const gen::PID pid = addresses_.PidOf(process.Id());
    if (addresses_.Find(pid) == nullptr) return;
    ProcessCold& cold = process.Cold();
    std::lock_guard lock(cold.lock);
    if (!process.IsStill(pid)) return;
    const std::string name = gen::BehaviorNameOf(process.behavior());
    const auto level = levels.find(name);
    if (level == levels.end()) return;
    const std::uint8_t after = BehaviorLevels::ValueOf(level->second);
    const std::uint8_t was = process.own_log_level().exchange(after, std::memory_order_relaxed);
    Found& found = all[name];
    ++found.processes;
    if (was != after) ++found.changed[was];
  });
  for (const auto& [name, level] : levels) {
    const Found& found = all[name];
    const auto known = before.find(name);
    const bool is_new = known == before.end() || known->second != level;
    if (!is_new && found.changed.empty()) continue;
    log_.TellChange("log_levels." + name, LevelText(BehaviorLevels::ValueOf(level)),
                    TextBefore(before, name, found));
    if (found.processes != 0) continue;
    gen::Log(log_).Warning(
        "log_levels.{}: no process has this behaviour now; the level applies to those spawned "
        "later",
        name);
  }
}

}  // namespace ergon::node
