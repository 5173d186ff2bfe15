// Work for each of many items, several at a time, in processes of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <ergon/gen/task.h>

namespace ergon::gen {

struct ParallelOptions {
  int at_once = 8;  // how many items are worked on at the same time, 1 or more
  // The time for all items together, more than 0; kInfinite: no limit.
  std::chrono::nanoseconds timeout = kInfinite;
};

namespace detail {

// Outlives the process that waits for it: a task that was ended may run to its next wait.
template <class Item, class Function, class R>
struct ParallelWork {
  struct Slot {
    std::optional<Result<R>> value;
    std::atomic<bool> done{false};
  };

  ParallelWork(std::vector<Item> its_items, Function its_function)
      : items(std::move(its_items)), function(std::move(its_function)), slots(items.size()) {}

  void Run(Process& task) {
    // Sleep: a task that is being ended leaves the rest to others.
    while (task.Sleep(std::chrono::nanoseconds::zero())) {
      const std::size_t i = next.fetch_add(1);
      if (i >= items.size()) return;
      RunTask(slots[i].value, function, task, items[i]);
      slots[i].done.store(true, std::memory_order_release);  // partner: Outcomes
    }
  }
  using Outcome = Result<std::conditional_t<std::is_same_v<R, TaskDone>, void, R>>;
  // Returns what came of each item; for an item that is not done: `reason`.
  [[nodiscard]] std::vector<Outcome> Outcomes(const Error& reason) {
    std::vector<Outcome> outcomes;
    outcomes.reserve(slots.size());
    for (Slot& slot : slots) {
      if (!slot.done.load(std::memory_order_acquire)) {
        outcomes.push_back(reason);
      } else if constexpr (std::is_same_v<R, TaskDone>) {
        outcomes.push_back(slot.value->map([](TaskDone) {}));
      } else {
        outcomes.push_back(std::move(*slot.value));
      }
    }
    return outcomes;
  }

  std::vector<Item> items;
  Function function;
  std::vector<Slot> slots;
  std::atomic<std::size_t> next{0};
};

// Returns an error if no task has begun. Otherwise `reason` says why not all items were done, if any were not.
Result<void> RunParallel(Process& owner, std::size_t items, const ParallelOptions& options,
                         const std::function<void(Process&)>& work,
                         std::vector<Task<TaskDone>>& tasks, Error& reason);

}  // namespace detail

// Calls `function` for each item, in processes of their own, some of them at the same time, and returns the outcome of
// each item, in the order of the items. Only this process is suspended meanwhile.
//
//   auto sizes = gen::Parallel(self, paths, [pool](gen::Process& task, std::string& path) {
//     return task.Call(pool, Thumbnail{path});
//   });
//
// The function may take its task's process before the item. The tasks share the function, so it must not change what it
// has captured; and those that are not done when this returns, as after a time-out, may go on until their next wait, so
// it should not refer to variables of the caller. If the function returns nothing, or a Result<void>, the outcome is a
// Result<void>. The outcome of an item is an error if the function returned one or threw (kApplication), the item was
// not done when the time was up (kTimeout), or its task or this process was ended (kProcessTerminated). One reason, the
// last, stands for all items that are not done: also kDeadlock, if a task has called this process, and kTooManyCalls,
// if no stack is left for this process to wait. A task that somebody ends takes this process along, unless that traps
// exits. Errors of the whole:
//   kIncorrect  options; or what Process::Spawn returns: then no item was begun
template <class Item, class Function>
auto Parallel(Process& self, std::vector<Item> items, Function function,
              const ParallelOptions& options = {}) {
  using R = detail::TaskValueOf<Function, Item>;
  using Work = detail::ParallelWork<Item, Function, R>;
  const auto work = std::make_shared<Work>(std::move(items), std::move(function));
  Error reason(ErrorCode::kProcessTerminated, "its task was ended");
  std::vector<Task<detail::TaskDone>> tasks;  // the outcomes are taken before these are ended
  auto run = detail::RunParallel(
      self, work->items.size(), options, [work](Process& task) { work->Run(task); }, tasks, reason);
  using Outcomes = Result<std::vector<typename Work::Outcome>>;
  if (!run) return Outcomes(std::move(run.error()));
  work->next = work->items.size();  // nobody begins with one more
  return Outcomes(work->Outcomes(reason));
}

}  // namespace ergon::gen
