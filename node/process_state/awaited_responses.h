// The requests of one process that wait for their answers without a stack (Process::Request).
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <ergon/core/time/timer_queue.h>

namespace ergon::node {

// Belongs to a slot, as ProcessCold does: any thread may look at it at any time. Whoever takes an entry out decides the
// outcome of its request and sends it to the process, so that there is exactly one outcome; a late or second answer
// finds no entry.
class AwaitedResponses {
 public:
  // Adds an entry. Called by the process itself, before the request is sent.
  void Add(std::uint64_t id, std::uint32_t generation);
  // Arms the timer of an entry. Called by the process itself, after that. At `deadline` (Clock ns) `fire` is called
  // with `context`, which must outlive the node's timers, and the id; not if the answer has come already.
  void Arm(std::uint64_t id, core::TimerQueue& timers, std::int64_t deadline,
           core::Timer::Fire fire, void* context);
  struct Awaited {
    std::uint32_t generation = 0;  // of the process that waits; 0: no process waits (any more)
    bool begun = false;
  };
  // Any thread.
  [[nodiscard]] Awaited Take(std::uint64_t id, core::TimerQueue& timers);
  // Does what core::AwaitState::NoteBegun does; Take returns it. Any thread.
  [[nodiscard]] bool NoteBegun(std::uint64_t id);
  [[nodiscard]] bool Contains(std::uint64_t id) const;
  [[nodiscard]] bool IsEmpty() const;
  // Removes all entries: the process has ended.
  void Clear(core::TimerQueue& timers);

 private:
  struct Entry {
    Awaited awaited;
    core::Timer timer;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace ergon::node
