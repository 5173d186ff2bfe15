#include <ergon/gen/parallel.h>

#include <algorithm>

#include <fmt/format.h>

#include <ergon/core/foundations/number_text.h>

namespace ergon::gen::detail {

Result<void> RunParallel(Process& owner, std::size_t items, const ParallelOptions& options,
                         const std::function<void(Process&)>& work,
                         std::vector<Task<TaskDone>>& tasks, Error& reason) {
  if (options.at_once < 1) {
    return Error(ErrorCode::kIncorrect,
                 fmt::format("at_once: {}, has to be at least 1", options.at_once));
  }
  if (options.timeout <= std::chrono::nanoseconds::zero()) {
    return Error(ErrorCode::kIncorrect, fmt::format("timeout: {}, has to be more than 0",
                                                    core::ExactTime(options.timeout)));
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
    // If a task was killed, the others do the rest, except the item that it was working on.
    reason = std::move(done.error());
    if (reason == ErrTimeout) break;
  }
  return {};
}

}  // namespace ergon::gen::detail
