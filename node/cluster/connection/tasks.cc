#include <ergon/node/cluster/connection/tasks.h>

#include <vector>

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

namespace ergon::dist {
namespace {

constexpr std::size_t kTaskStackBytes = 256 * 1024;

void NothingAfterSwitch(void*, core::Fiber&, core::Fiber&) {}

// Whose task is beginning on this thread.
thread_local Tasks* beginning = nullptr;

}  // namespace

void Tasks::Start(std::function<void()> function, std::function<void()> without_stack) {
  asio::post(context_, [this, function = std::move(function),
                        without_stack = std::move(without_stack)]() mutable {
    if (!cancelled_ && !Begin(std::move(function)) && without_stack) without_stack();
  });
}

bool Tasks::Begin(std::function<void()> function) {
  auto fiber = core::Fiber::Create(kTaskStackBytes, &Body);
  if (fiber == nullptr) return false;
  if (!thread_) thread_.emplace();
  tasks_.emplace_back();
  Task& task = tasks_.back();
  task.function = std::move(function);
  task.fiber = std::move(fiber);
  task.place = std::prev(tasks_.end());
  beginning = this;
  Resume(task);
  return true;
}

void Tasks::Body(core::Fiber& self) {
  Tasks& tasks = *beginning;
  Task& task = *tasks.current_;
  try {
    task.function();
  } catch (...) {  // who starts one looks after its errors
  }
  task.function = nullptr;
  task.ended = true;
  self.SwitchTo(*tasks.thread_, &NothingAfterSwitch, nullptr);
}

void Tasks::Resume(Task& task) {
  task.cancel = nullptr;
  Task* const before = std::exchange(current_, &task);
  thread_->SwitchTo(*task.fiber, &NothingAfterSwitch, nullptr);
  current_ = before;
  if (task.ended) tasks_.erase(task.place);
}

void Tasks::Park(Task& task, const std::function<void()>& cancel) {
  task.cancel = cancel;
  task.fiber->SwitchTo(*thread_, &NothingAfterSwitch, nullptr);
}

void Tasks::CheckNotCancelled() const {
  if (cancelled_)
    throw std::system_error(asio::error::make_error_code(asio::error::operation_aborted));
}

void Tasks::Sleep(std::chrono::nanoseconds duration) {
  asio::steady_timer timer(context_);
  timer.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(duration));
  Await([&] { timer.cancel(); }, [&](auto handler) { timer.async_wait(std::move(handler)); });
}

void Tasks::Cancel() {
  cancelled_ = true;
  // Their handlers come later: nobody ends meanwhile.
  for (Task& task : tasks_) {
    if (task.cancel) task.cancel();
  }
}

}  // namespace ergon::dist
