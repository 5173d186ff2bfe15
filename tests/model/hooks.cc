// What atomic operations, futex calls and plain data do in an execution.
#include <cstring>

#include "execution.h"

namespace ergon::model {
namespace {

constexpr std::size_t kBufferSize = 8;  // stores; one more waits for the buffer, as in a processor

std::uint64_t ReadMemory(const void* location, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, location, size);
  return value;
}

bool Acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}

bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

// What the thread has released can be told apart from what it does next.
VectorClock Release(Execution::Thread& thread) {
  const VectorClock released = thread.clock;
  ++thread.clock.counts[static_cast<std::size_t>(thread.number)];
  return released;
}

void See(Execution::Thread& thread, const Location& location) {
  thread.seen = location.address;
  thread.seen_version = location.version;
}

bool Before(const Execution::Thread& thread, int other, std::uint32_t count) {
  return thread.clock.counts[static_cast<std::size_t>(other)] >= count;
}

}  // namespace

void Check(bool condition, const char* what) {
  if (condition) return;
  Execution& execution = TheExecution();
  if (execution.Running() != nullptr) execution.FailInThread(what);
  execution.NoteFailure(what);
}

namespace hooks {

void Create(const void* location) {
  Execution& execution = TheExecution();
  if (execution.Running() == nullptr) return;
  Location& place = execution.locations().At(location);
  const int number = place.number;
  const std::uint64_t current = place.execution;
  place = Location{};
  place.address = location;
  place.execution = current;
  place.number = number;
}

void Destroy(const void* location) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) return;
  Location& place = execution.locations().At(location);
  for (int other = 0; other < execution.options().threads; ++other) {
    if (!Before(*thread, other, place.used[static_cast<std::size_t>(other)])) {
      execution.FailInThread("destroys an atomic that another thread may be using");
    }
  }
  place.destroyed = true;
}

std::uint64_t Load(const void* location, std::size_t size, std::memory_order order) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) return ReadMemory(location, size);
  execution.Await(Kind::kLoad, location);
  Location& place = execution.Use(location);
  See(*thread, place);
  std::uint64_t value = ReadMemory(location, size);
  bool forwarded = false;
  for (const Execution::BufferedStore& store : thread->buffer) {
    if (store.location != location) continue;
    value = store.value;
    forwarded = true;
  }
  if (!forwarded && Acquires(order)) thread->clock.Join(place.released);
  execution.Record(Kind::kLoad, location, value);
  return value;
}

void Store(void* location, std::size_t size, std::uint64_t value, std::memory_order order) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) {
    std::memcpy(location, &value, size);
    return;
  }
  if (execution.options().store_buffers && order != std::memory_order_seq_cst &&
      thread->buffer.size() < kBufferSize) {
    (void)execution.Use(location);
    const VectorClock released = Releases(order) ? Release(*thread) : VectorClock{};
    thread->buffer.push_back({location, size, value, released});
    execution.Record(Kind::kBuffered, location, value);
    return;
  }
  execution.Await(Kind::kStore, location);
  Location& place = execution.Use(location);
  place.released = Releases(order) ? Release(*thread) : VectorClock{};
  execution.WriteMemory(location, size, value);
  execution.Record(Kind::kStore, location, value);
}

std::uint64_t BeginReadModifyWrite(void* location, std::size_t size, bool is_lock) {
  Execution& execution = TheExecution();
  if (execution.Running() != nullptr) {
    const bool blocks = is_lock && execution.options().locks_block;
    execution.Await(blocks ? Kind::kLock : Kind::kReadModifyWrite, location);
    (void)execution.Use(location);
  }
  return ReadMemory(location, size);
}

void EndReadModifyWrite(void* location, std::size_t size, std::uint64_t value,
                        std::memory_order order) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) {
    std::memcpy(location, &value, size);
    return;
  }
  execution.WriteMemory(location, size, value);
  Location& place = execution.locations().At(location);
  if (Acquires(order)) thread->clock.Join(place.released);
  // Without a release it still hands on what was released before: a release sequence.
  if (Releases(order)) place.released.Join(Release(*thread));
  See(*thread, place);
  execution.Record(Kind::kReadModifyWrite, location, value);
}

void EndFailedExchange(const void* location, std::memory_order order) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) return;
  const Location& place = execution.locations().At(location);
  if (Acquires(order)) thread->clock.Join(place.released);
  See(*thread, place);
  execution.Record(Kind::kLoad, location, ReadMemory(location, 1));
}

bool FailsSpuriously() {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr || thread->spurious_left == 0) return false;
  if (execution.Choose(2) == 0) return false;
  --thread->spurious_left;
  return true;
}

void Pause() {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) return;
  execution.Await(Kind::kPause, thread->seen);
  execution.Record(Kind::kPause, thread->seen, 0);
}

bool FutexWait(const std::uint32_t* word, std::uint32_t expected, std::int64_t timeout) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) return true;
  execution.Await(Kind::kFutexWait, word);
  (void)execution.Use(word);
  execution.Record(Kind::kFutexWait, word, expected);
  if (ReadMemory(word, sizeof *word) != expected) return true;
  thread->woken = false;
  thread->timed = timeout >= 0;
  execution.Await(Kind::kFutexSleep, word);
  bool in_time = thread->woken;
  if (!in_time) {
    const bool can_time_out = thread->timed && execution.options().timeouts > 0;
    const bool can_wake = thread->spurious_left > 0;
    in_time = can_wake && (!can_time_out || execution.Choose(2) == 1);
    if (in_time) {
      --thread->spurious_left;
    } else {
      if (thread->timeouts_left > 0) --thread->timeouts_left;
      thread->now += timeout;
    }
  }
  execution.Record(Kind::kFutexSleep, word, in_time ? 1 : 0);
  return in_time;
}

void FutexWake(const std::uint32_t* word, int count) {
  Execution& execution = TheExecution();
  if (execution.Running() == nullptr) return;
  // The word may be gone: only its address is used.
  execution.Await(Kind::kFutexWake, word);
  execution.Wake(word, count);
  execution.Record(Kind::kFutexWake, word, static_cast<std::uint64_t>(count));
}

int CurrentThread() {
  Execution::Thread* thread = TheExecution().Running();
  return thread == nullptr ? -1 : thread->number;
}

std::int64_t Now() {
  Execution::Thread* thread = TheExecution().Running();
  return thread == nullptr ? 0 : thread->now;
}

void ReadPlain(PlainState& state) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) return;
  if (state.writer >= 0 && !Before(*thread, state.writer, state.written)) {
    execution.FailInThread("reads plain data that another thread may be writing");
  }
  const auto number = static_cast<std::size_t>(thread->number);
  state.read[number] = thread->clock.counts[number];
}

void WritePlain(PlainState& state) {
  Execution& execution = TheExecution();
  Execution::Thread* thread = execution.Running();
  if (thread == nullptr) {
    state = PlainState{};
    return;
  }
  if (state.writer >= 0 && !Before(*thread, state.writer, state.written)) {
    execution.FailInThread("writes plain data that another thread may be writing");
  }
  for (int other = 0; other < execution.options().threads; ++other) {
    if (!Before(*thread, other, state.read[other])) {
      execution.FailInThread("writes plain data that another thread may be reading");
    }
  }
  state.writer = thread->number;
  state.written = thread->clock.counts[static_cast<std::size_t>(thread->number)];
}

}  // namespace hooks
}  // namespace ergon::model
