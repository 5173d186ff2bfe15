#include <ergon/gen/task.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/gen/node.h>

namespace ergon::gen::detail {

Error TaskThrew() { return Error("panic: " + core::ThrownText()); }

void AnswerOwner(Process& task) {
  while (auto asked = task.Receive<Asked<AwaitTask>>()) {
    (void)task.Unlink(asked->from);  // the end of the task is no news for its owner
    if (task.Reply(*asked, TaskDone())) return;
    (void)task.Link(asked->from);  // it has given up, and may ask again
  }
}

Result<PID> SpawnTask(Process& owner, const ProcessFactory& factory) {
  return owner.Spawn(factory, {.link_parent = true});
}

void EndTask(Process& owner, PID task) {
  (void)owner.Unlink(task);
  (void)owner.Node().Kill(task);
}

Result<void> RunParallel(Process& owner, std::size_t items, const ParallelOptions& options,
                         const std::function<void(Process&)>& work,
                         std::vector<Task<TaskDone>>& tasks, Error& reason) {
  if (options.at_once < 1) {
    return Error(ErrorCode::kIncorrect,
                 fmt::format("at_once: {}, has to be at least 1", options.at_once));
  }
  if (options.timeout <= std::chrono::nanoseconds::zero()) {
    return Error(ErrorCode::kIncorrect,
                 fmt::format("timeout: {} ns, has to be more than 0", options.timeout.count()));
  }
  const std::size_t at_once = std::min(items, static_cast<std::size_t>(options.at_once));
  while (tasks.size() < at_once) {
    auto task = StartTask(owner, work);
    if (task) {
      tasks.push_back(std::move(*task));
      continue;
    }
    if (tasks.empty()) return std::move(task.error());
    break;  // with fewer of them it takes longer
  }
  const bool has_end = options.timeout != kInfinite;
  const std::int64_t began = owner.Now();
  for (Task<TaskDone>& task : tasks) {
    std::chrono::nanoseconds left = options.timeout;
    if (has_end) {
      left -= std::chrono::nanoseconds(owner.Now() - began);
      left = std::max(left, std::chrono::nanoseconds(1));
    }
    auto done = task.Await(left);
    if (done) continue;
    // Of one that was killed the others do the rest, but for the item that it was at.
    reason = std::move(done.error());
    if (reason == ErrTimeout) break;
  }
  return {};
}

}  // namespace ergon::gen::detail
