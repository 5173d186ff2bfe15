// Whether this process is a fork of the one in which something was made: it then has the memory of that process, but
// none of its threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace ergon::core {

namespace detail {
inline std::atomic<std::uint32_t> fork_count{0};
}  // namespace detail

// Makes ForkCount count from now on. `lock` is called before each fork, `unlock` after it, and in the new process
// `unlock_in_child`: a lock that another thread holds at the moment of a fork would stay locked there for ever. May be
// called from any thread; calling it again has no effect. (pthread_atfork: it does not see vfork and posix_spawn, which
// exec at once.)
void WatchForks(void (*lock)(), void (*unlock)(), void (*unlock_in_child)());

// Returns how many forks there are between the program's first process and this one.
[[nodiscard]] inline std::uint32_t ForkCount() noexcept {
  // Relaxed: it changes while a process has one thread only.
  return detail::fork_count.load(std::memory_order_relaxed);
}

}  // namespace ergon::core
