// Runs a small program of a few threads in every order its atomic operations can take; or, of as many as sixteen
// threads, in orders that are chosen by chance.
//
// Threads are fibers of one real thread. Before each atomic operation a thread hands over to the
// explorer, which decides who goes on. All decisions of one execution are a list; the next
// execution repeats the list up to the last decision that has an untried alternative, and takes
// that (depth-first, stateless). A program must therefore do the same when it is run again: no
// time, no randomness, and nothing that threads share except atomics and Plain data.
//
// Memory: sequential consistency and store buffers as those of x86 (TSO). A store that is not
// seq_cst waits in its thread's buffer, first in, first out, until the explorer decides to flush
// it; seq_cst stores, read-modify-writes and futex calls wait until their thread's buffer is empty.
// Besides, clocks follow what C++ says about acquire and release, so that Plain data (plain.h)
// that is not ordered by them is reported whatever the order of this execution was.
//
// Executions that differ only in the order of independent operations (on other words, or loads of
// the same word) are the same; sleep sets (Godefroid, 1996) leave most of them out. With a bound on
// detours there are no sleep sets: together they would miss executions within the bound.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ergon::model {

inline constexpr int kMaxThreads = 16;
inline constexpr int kUnbounded = -1;

struct Options {
  const char* name;  // of the model, for replaying: no other one's
  int threads = 2;
  // How often an execution may deviate from the default schedule, in which a thread runs until it
  // has to wait, and then the first that can go on does (delay bounding: Emmi, Qadeer, Rakamaric,
  // 2011). What a fault needs is usually few of these.
  int detours = kUnbounded;
  // If not 0: so many executions, each in an order that a seed, 1 to this, chooses. For programs that are too large for
  // all orders; `detours` has no meaning then. The same each time.
  std::uint64_t seeds = 0;
  // False: sequential consistency.
  bool store_buffers = true;
  // exchange(true) on an atomic<bool> that is true waits until it is false: spin locks, without the
  // spinning, which would multiply the executions and change nothing.
  bool locks_block = true;
  // Per thread and execution: compare_exchange_weak may fail and a futex wake up for no reason.
  int spurious = 0;
  // Per thread and execution: how often a wait may time out although others can go on. When nobody
  // can, it times out at no charge; with 0 never, and then nothing hides a lost wake-up.
  int timeouts = 0;
  // Gives up after so many; then Result::complete is false.
  std::uint64_t max_executions = 2'000'000;
  // False: every interleaving, for tests of the explorer.
  bool reduce = true;
};

// One execution's state. Made before the threads start and destroyed after they have ended.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  virtual void Run(int thread) = 0;
  // When nobody can go on: whether this is how it may end, with threads that sleep.
  virtual bool MayRest() const { return false; }
  // After all threads have ended, or rest, and all stores are in memory.
  virtual void Finish() {}
};

struct Result {
  std::uint64_t executions = 0;  // that ran to their end
  std::uint64_t pruned = 0;      // cut off: the same as others
  bool complete = false;         // there are no more, or no more seeds
  std::string failure;           // empty: none; otherwise what, and the schedule
};

using ModelMaker = std::function<std::unique_ptr<Model>()>;

// Stops at the first failure: a Check, a race, a deadlock (which includes a lost wake-up), threads
// that run for ever. The environment variable ERGON_MODEL_REPLAY=<name>:<schedule> makes it run and
// print that schedule only.
[[nodiscard]] Result Explore(const Options& options, const ModelMaker& make);

template <class M>
[[nodiscard]] Result Explore(const Options& options) {
  return Explore(options, [] { return std::make_unique<M>(); });
}

// Ends the execution, and with it the exploration, when `condition` is false. Inside threads and
// Finish.
void Check(bool condition, const char* what);

// -- what the shim's atomics and the replaced system calls are made of --

namespace hooks {

void Create(const void* location);
void Destroy(const void* location);
std::uint64_t Load(const void* location, std::size_t size, std::memory_order order);
void Store(void* location, std::size_t size, std::uint64_t value, std::memory_order order);
// A read-modify-write: the old value first, then one of the two Ends, without anything in between.
std::uint64_t BeginReadModifyWrite(void* location, std::size_t size, bool is_lock);
void EndReadModifyWrite(void* location, std::size_t size, std::uint64_t value,
                        std::memory_order order);
void EndFailedExchange(const void* location, std::memory_order order);
// Whether a compare_exchange_weak fails for no reason this time.
bool FailsSpuriously();

// The thread spins: it goes on when the word it looked at last has changed.
void Pause();
// `timeout` negative: none. False on time-out.
bool FutexWait(const std::uint32_t* word, std::uint32_t expected, std::int64_t timeout);
void FutexWake(const std::uint32_t* word, int count);
// The calling thread's number; -1 outside of threads.
int CurrentThread();
// The calling thread's clock: stands still except for time-outs.
std::int64_t Now();

// Plain data: what happened last, and by whom.
struct PlainState {
  int writer = -1;
  std::uint32_t written = 0;
  std::uint32_t read[kMaxThreads] = {};
};
void ReadPlain(PlainState& state);
void WritePlain(PlainState& state);

}  // namespace hooks
}  // namespace ergon::model
