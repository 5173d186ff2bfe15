// Straight-line code for sockets: functions on stacks of their own, which wait for operations of Asio.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <asio/error_code.hpp>
#include <asio/io_context.hpp>

#include <ergon/core/turns/fiber.h>

namespace ergon::dist {

// All tasks run on the one thread that runs the context, one at a time. Their stacks are Boost.Context's, as those of
// processes: a clang of the same age as our compiler has no coroutines for its library.
class Tasks {
 public:
  // What whoever waits for a task that has no stack is told.
  static constexpr const char* kNoStack = "there is no memory, or no place, for one more stack";

  explicit Tasks(asio::io_context& context) : context_(context) {}
  // No task may run any more.
  ~Tasks() = default;
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  // Runs a function later. Its exceptions are lost. Any thread. If there is no memory for a stack, `without_stack` is
  // called on the thread of the context, and `function` destroyed without having run.
  void Start(std::function<void()> function, std::function<void()> without_stack = {});

  // -- on the thread of the context --

  // Cancels what tasks wait for, now and from now on, so that they end.
  void Cancel();
  // In a task: begins an operation with `begin(handler)` and waits until it calls the handler, whose second argument,
  // a T, is returned. `cancel` cancels the operation. Throws std::system_error.
  template <class T, class Begin>
  T Await(const std::function<void()>& cancel, Begin&& begin) {
    Task& task = *current_;
    CheckNotCancelled();
    asio::error_code error;
    T value{};
    std::forward<Begin>(begin)([&, this](const asio::error_code& its_error, T its_value) {
      error = its_error;
      value = std::move(its_value);
      Resume(task);
    });
    Park(task, cancel);
    if (error) throw std::system_error(error);
    return value;
  }
  // Does the same for handlers that take only an error.
  template <class Begin>
  void Await(const std::function<void()>& cancel, Begin&& begin) {
    Task& task = *current_;
    CheckNotCancelled();
    asio::error_code error;
    std::forward<Begin>(begin)([&, this](const asio::error_code& its_error) {
      error = its_error;
      Resume(task);
    });
    Park(task, cancel);
    if (error) throw std::system_error(error);
  }
  // Suspends the running task. Throws std::system_error if it is cancelled.
  void Sleep(std::chrono::nanoseconds duration);

 private:
  struct Task {
    std::function<void()> function;
    std::unique_ptr<core::Fiber> fiber;
    std::function<void()> cancel;  // empty: it does not wait
    std::list<Task>::iterator place;
    bool ended = false;
  };

  static void Body(core::Fiber& self);
  void CheckNotCancelled() const;
  // False: there is no memory for a stack.
  bool Begin(std::function<void()> function);
  // Resumes a task until it waits or has ended.
  void Resume(Task& task);
  void Park(Task& task, const std::function<void()>& cancel);

  asio::io_context& context_;
  std::list<Task> tasks_;
  Task* current_ = nullptr;
  std::optional<core::Fiber> thread_;  // what resumes tasks
  bool cancelled_ = false;
};

}  // namespace ergon::dist
