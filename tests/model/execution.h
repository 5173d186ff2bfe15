// One execution: the threads, their store buffers, what each is about to do, and what happened.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#include "explorer.h"
#include "locations.h"

namespace ergon::model {

enum class Kind : std::uint8_t {
  kBegin,
  kLoad,
  kStore,     // into memory; waits for the buffer
  kBuffered,  // into the buffer: for nobody else to see, so no decision is made before it
  kFlush,     // from the buffer into memory
  kReadModifyWrite,
  kLock,
  kPause,
  kFutexWait,
  kFutexSleep,  // a wait that has begun
  kFutexWake,
};

struct Operation {
  Kind kind = Kind::kBegin;
  const void* location = nullptr;
};

// Agents are the threads 0, 1, ... and after those the threads' store buffers.
inline constexpr int kMaxAgents = 2 * kMaxThreads;
using AgentSet = std::uint32_t;

// Decides what a stretch of code does by chance: 0 to count - 1.
using Chooser = int (*)(int count);

class Execution {
 public:
  Execution();

  void Begin(const Options& options, Model& model, Chooser chooser);

  // Agents that can take a step now.
  [[nodiscard]] AgentSet Enabled() const;
  // Whether it is over if nobody can take a step.
  [[nodiscard]] bool IsDone() const;
  // What the agent's step would be.
  [[nodiscard]] Operation Next(int agent) const;
  void Step(int agent);

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  // Outside of threads: keeps the first failure.
  void NoteFailure(const std::string& what);
  // The events so far, one in a line.
  [[nodiscard]] std::string Trace() const;

  // -- for the hooks; `Running` is null outside of threads --
  struct Thread;
  [[nodiscard]] Thread* Running() { return running_; }
  [[noreturn]] void FailInThread(const std::string& what);
  // Lets the explorer decide; returns when this operation is the thread's next step.
  void Await(Kind kind, const void* location);
  void Record(Kind kind, const void* location, std::uint64_t value);
  Location& Use(const void* address);
  void WriteMemory(void* address, std::size_t size, std::uint64_t value);
  int Choose(int count) { return chooser_(count); }
  [[nodiscard]] Locations& locations() { return locations_; }
  [[nodiscard]] const Options& options() const { return options_; }
  void Wake(const void* word, int count);

  struct BufferedStore {
    void* location;
    std::size_t size;
    std::uint64_t value;
    VectorClock released;
  };
  struct Thread {
    int number = 0;
    bool ended = false;
    boost::context::detail::fcontext_t context = nullptr;
    std::unique_ptr<char[]> stack;
    Operation next;
    VectorClock clock;
    std::vector<BufferedStore> buffer;  // the oldest first
    // The word it looked at last, and which of its values it saw.
    const void* seen = nullptr;
    std::uint32_t seen_version = 0;
    // A futex wait.
    bool woken = false;
    bool timed = false;
    std::uint64_t sleeps_since = 0;
    int timeouts_left = 0;
    int spurious_left = 0;
    std::int64_t now = 0;
  };

 private:
  struct Event {
    int agent;
    Kind kind;
    int location;
    std::uint64_t value;
  };

  static void Main(boost::context::detail::transfer_t from);
  // Those of this model.
  [[nodiscard]] std::span<Thread> Threads() {
    return {threads_.data(), static_cast<std::size_t>(options_.threads)};
  }
  [[nodiscard]] std::span<const Thread> Threads() const {
    return {threads_.data(), static_cast<std::size_t>(options_.threads)};
  }
  [[nodiscard]] bool CanStep(const Thread& thread) const;
  void Flush(Thread& thread);

  Options options_{};
  Model* model_ = nullptr;
  Chooser chooser_ = nullptr;
  std::array<Thread, kMaxThreads> threads_;
  Thread* running_ = nullptr;
  boost::context::detail::fcontext_t explorer_ = nullptr;
  mutable Locations locations_;
  std::vector<Event> events_;
  std::string failure_;
  std::size_t steps_ = 0;
  std::uint64_t sleeps_ = 0;
};

// There is one, as there is one exploration at a time.
Execution& TheExecution();

}  // namespace ergon::model
