// How a node is started.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ergon/core/clock.h>
#include <ergon/core/dispatcher.h>
#include <ergon/core/timer_queue.h>
#include <ergon/gen/log_level.h>

namespace ergon::gen {

enum class DispatcherPolicy : std::uint8_t {
  kWorkStealing,  // a queue per worker; idle workers steal
  kWorkSharing,   // one queue for all
};

struct NodeOptions {
  // Threads that run processes, 2..1024; 0: as many as there are cores, at least 2.
  int workers = 0;
  DispatcherPolicy policy = DispatcherPolicy::kWorkStealing;
  // Messages that a process may handle in a turn, 1..4096. Less is fairer, more is faster.
  int throughput = 32;
  // With quick handlers a turn may go on beyond that until it has lasted so long, 0..1 s; 0: never.
  std::chrono::nanoseconds turn_time = std::chrono::microseconds(20);
  // The stack of a handler, in bytes, 16 KiB..1 GiB. Only pages that are touched take memory.
  std::size_t handler_stack_bytes = 256 * 1024;
  // Called around every turn; see core::DispatcherHooks.
  std::shared_ptr<core::DispatcherHooks> hooks = nullptr;

  LogLevel log_level = LogLevel::kInfo;
  // Receives each log line, already formatted, instead of standard error. Any thread, one at a
  // time.
  std::function<void(LogLevel level, const std::string& line)> log_sink = nullptr;

  // How long Stop waits for processes to end in order before it kills them.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);

  // The node's time and the threads it runs on, when the caller brings its own: for simulations.
  // `dispatcher` must not be started; it runs detached processes, too. Workers, policy, throughput,
  // turn_time, hooks and stack are its own then.
  std::shared_ptr<core::Clock> clock = nullptr;
  std::shared_ptr<core::Dispatcher> dispatcher = nullptr;
  // Driven by the caller (see core::TimerQueue); needed with a clock for anything that takes time.
  std::shared_ptr<core::TimerQueue> timers = nullptr;
  // Runs a function later, outside of all handlers; none: on a thread of its own.
  std::function<void(std::function<void()>)> defer = nullptr;
  // Tells incarnations of the node apart, 4 or more; 0: chosen so that it is always another one.
  std::uint32_t creation = 0;
};

}  // namespace ergon::gen
