// Work for a process of its own, and its result: Process::Async. For many items: gen/parallel.h.
//
// The result is an answer and not a message with the task's end behind it (NoticeOrder::kInOrder): an owner that is an
// actor could not wait for one message in the middle of a handler, but for an answer it can.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <ergon/gen/process.h>

namespace ergon::gen {

namespace detail {

struct TaskDone {};  // the answer to AwaitTask, and the value of a function that returns nothing

// Written by the task before it is done, read by the owner when it knows that.
template <class R>
struct TaskState {
  std::optional<Result<R>> value;
  std::atomic<bool> done{false};  // release and acquire: who sees true sees the value
};

template <class T>
struct TaskValue {
  using Type = T;
};
template <class T>
struct TaskValue<Result<T>> {
  using Type = T;
};
template <>
struct TaskValue<void> {
  using Type = TaskDone;
};
template <>
struct TaskValue<Result<void>> {
  using Type = TaskDone;
};

// Calls the function of a task. It may take the task's process as its first argument.
template <class Function, class... Arguments>
decltype(auto) CallTask(Function& function, Process& task, Arguments&... arguments) {
  if constexpr (std::is_invocable_v<Function&, Process&, Arguments&...>) {
    return function(task, arguments...);
  } else {
    static_assert(
        std::is_invocable_v<Function&, Arguments&...>,
        "the function of a task takes the item, if there is one, and before it the task's "
        "gen::Process& if it likes");
    return function(arguments...);
  }
}
template <class Function, class... Arguments>
using TaskValueOf = typename TaskValue<std::decay_t<decltype(CallTask(
    std::declval<Function&>(), std::declval<Process&>(), std::declval<Arguments&>()...))>>::Type;

// Returns the error that stands for the exception that is being handled.
[[nodiscard]] Error TaskThrew();

// Sets `value` to what the function returns, or to an error if it throws, or if a move of what it returns does.
template <class Function, class... Arguments>
void RunTask(std::optional<Result<TaskValueOf<Function, Arguments...>>>& value, Function& function,
             Process& task, Arguments&... arguments) {
  using Returned = std::decay_t<decltype(CallTask(function, task, arguments...))>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      CallTask(function, task, arguments...);
      value.emplace(TaskDone());
    } else if constexpr (std::is_same_v<Returned, Result<void>>) {
      auto returned = CallTask(function, task, arguments...);
      returned ? value.emplace(TaskDone()) : value.emplace(std::move(returned.error()));
    } else {
      value.emplace(CallTask(function, task, arguments...));
    }
  } catch (...) {
    value.emplace(TaskThrew());
  }
}

// Answers the owner's requests until one of the answers has reached it: the owner may take the value then.
void AnswerOwner(Process& task);
[[nodiscard]] Result<PID> SpawnTask(Process& owner, const ProcessFactory& factory);
void EndTask(Process& owner, PID task);

}  // namespace detail

// The work that an Async has begun. It belongs to the process that called Async, and all functions are called in the
// handlers of that process. A task that goes out of scope is ended, whether its function has returned or not. Until it
// is awaited, cancelled or goes out of scope, its process lives, and uses a stack. Nobody waits for the function of a
// task that is ended: the function may run on until its next wait, so it must not refer to variables of the handler
// that began it, unless that awaits the task in any case. Capture values.
template <class R>
class [[nodiscard]] Task {
 public:
  // The type that the function returns; the T of a Result<T>; void.
  using Value = std::conditional_t<std::is_same_v<R, detail::TaskDone>, void, R>;

  Task(Process& owner, PID pid, std::shared_ptr<detail::TaskState<R>> state)
      : owner_(&owner), pid_(pid), state_(std::move(state)) {}
  Task(Task&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)),
        pid_(other.pid_),
        state_(std::move(other.state_)) {}
  Task& operator=(Task&& other) noexcept {
    Task moved(std::move(other));
    std::swap(owner_, moved.owner_);
    std::swap(pid_, moved.pid_);
    std::swap(state_, moved.state_);
    return *this;
  }
  ~Task() { Cancel(); }

  // Suspends this process until the function has returned, and returns its result. Errors: the function's own, or:
  //   kApplication        it threw; the text is "panic: <what>"
  //   kTimeout            it has not returned within `timeout`, and goes on: await it again, or cancel it. (A kTimeout
  //                       that the function itself returns is its result: nothing goes on.)
  //   kDeadlock           it waits for this process; it is cancelled
  //   kProcessTerminated  its process was ended by others, or this one is being ended, before the function returned
  //   kNotAllowed         it has been awaited or cancelled before
  //   kIncorrect          `timeout`, which has to be more than 0; the task goes on
  //   kTooManyCalls       no stack is left for one more wait, and the function has not returned; the task goes on
  Result<Value> Await(std::chrono::nanoseconds timeout = kDefaultCallTimeout) {
    if (owner_ == nullptr) {
      return Error(ErrorCode::kNotAllowed, "Await: the task has been awaited or cancelled before");
    }
    auto answer =
        owner_->template Call<detail::TaskDone>(pid_, detail::AwaitTask(), {.timeout = timeout});
    if (!answer) {
      // A task that has no stack to wait for the owner ends, and its result is here all the same.
      const bool is_lost =
          !state_->done.load(std::memory_order_acquire) || !EndsWithResult(answer.error());
      if (is_lost && GoesOnAfter(answer.error())) return std::move(answer.error());
      Cancel();
      if (is_lost) return std::move(answer.error());
    }
    owner_ = nullptr;
    Result<R>& value = *state_->value;
    if (!value) return std::move(value.error());
    if constexpr (std::is_void_v<Value>) {
      return {};
    } else {
      return std::move(*value);
    }
  }

  // Ends the task's process: at once, or if the function is running, at its next wait or return. No notice or answer of
  // the task comes afterwards.
  void Cancel() {
    if (owner_ != nullptr) detail::EndTask(*std::exchange(owner_, nullptr), pid_);
  }

  // Returns the process that runs the function.
  [[nodiscard]] PID Pid() const noexcept { return pid_; }

 private:
  // Of an Await that has failed.
  static bool GoesOnAfter(const Error& error) {
    return error == ErrTimeout || error == ErrIncorrect || error == ErrTooManyCalls;
  }
  // Of a task that is done: there is no answer, because it or the owner had no stack left to wait, it was ended by
  // others, or the answer has come too late.
  static bool EndsWithResult(const Error& error) {
    return error == ErrProcessTerminated || error == ErrProcessUnknown ||
           error == ErrTooManyCalls || error == ErrTimeout;
  }

  Process* owner_;  // null: awaited, cancelled or moved away
  PID pid_;
  std::shared_ptr<detail::TaskState<R>> state_;
};

namespace detail {

template <class Function>
auto StartTask(Process& owner, Function&& function) {
  using R = TaskValueOf<std::decay_t<Function>>;
  using Started = Result<Task<R>>;
  const auto state = std::make_shared<TaskState<R>>();
  // A factory is copied, a task is run once.
  auto kept = std::make_shared<std::decay_t<Function>>(std::forward<Function>(function));
  auto pid = SpawnTask(owner, [kept = std::move(kept), state](Process& task) {
    RunTask(state->value, *kept, task);
    state->done.store(true, std::memory_order_release);
    AnswerOwner(task);
  });
  return pid ? Started(Task<R>(owner, *pid, state)) : Started(std::move(pid.error()));
}

}  // namespace detail

}  // namespace ergon::gen
