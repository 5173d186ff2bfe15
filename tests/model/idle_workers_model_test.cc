// Workers that search, sleep and wake each other: whatever is published is taken by somebody, so no
// wake-up is lost. The workers' loop is that of ThreadedWorker::Search.
#include "shim.h"

#include "checks.h"

#include <ergon/core/queues/idle_workers.h>
#include <ergon/core/queues/run_queue.h>

namespace ergon::model {
namespace {

using core::CpuPause;
using core::IdleWorkers;
using core::RunQueue;
using core::Schedulable;
using core::TurnEnd;

struct Job final : Schedulable {
  TurnEnd RunTurn() override { return TurnEnd::kIdle; }
  Plain<int> data{0};  // written by who publishes the job
};

class Dispatcher : public Model {
 public:
  Dispatcher(int workers, bool rescue) : idle_(workers, rescue) {}

 protected:
  virtual bool Take(int worker) = 0;
  virtual bool HasWork() = 0;
  virtual void RunJob(int worker) = 0;

  // Ends when the dispatcher is stopped.
  void Work(int worker) {
    while (Search(worker)) RunJob(worker);
  }
  void Stop() {
    stopping_.store(true, std::memory_order_seq_cst);
    idle_.WakeAll();
  }

  IdleWorkers idle_;

 private:
  bool Search(int worker) {
    bool searching = idle_.TryStartSearch();
    for (;;) {
      const bool found = Take(worker);
      const bool last = !searching || idle_.EndSearch();
      if (found) {
        if (last && HasWork()) idle_.NotifyWork();
        if (last) idle_.RenewRescuer();
        return true;
      }
      if (stopping_.load(std::memory_order_relaxed)) return false;
      idle_.PrepareSleep(worker);
      searching = true;
      if (HasWork() || stopping_.load(std::memory_order_seq_cst)) {
        idle_.CancelSleep(worker);
        continue;
      }
      (void)idle_.Sleep(worker, 1'000'000);
    }
  }

  std::atomic<bool> stopping_{false};
};

// Jobs come from outside, into a queue that is a mere number (the real ones have models of their
// own). In the end all workers sleep.
template <int kWorkers, int kJobs, int kProducers = 1>
class Injected : public Dispatcher {
 public:
  Injected() : Dispatcher(kWorkers, false) {}
  void Run(int thread) override {
    if (thread < kWorkers) return Work(thread);
    for (int i = 0; i < kJobs; ++i) {
      queue_.fetch_add(1, std::memory_order_seq_cst);
      idle_.NotifyWork();
    }
  }
  bool MayRest() const override { return queue_.load() == 0; }
  void Finish() override {
    Check(done_.load() == kJobs * kProducers, "a job was not done once");
    Check(idle_.SleepersApprox() == kWorkers, "somebody neither sleeps nor works");
  }

 protected:
  void RunJob(int) override { done_.fetch_add(1, std::memory_order_relaxed); }

 private:
  bool Take(int) override {
    int length = queue_.load(std::memory_order_relaxed);
    while (length > 0) {
      if (queue_.compare_exchange_weak(length, length - 1)) return true;
    }
    return false;
  }
  bool HasWork() override { return queue_.load(std::memory_order_seq_cst) > 0; }

  std::atomic<int> queue_{0};
  std::atomic<int> done_{0};
};

TEST_CASE("model: a worker sleeps, jobs come from outside") {
  CheckModel<Injected<1, 1>>({.name = "idle-injected-1x1"}, 60);
  CheckModel<Injected<1, 2>>({.name = "idle-injected-1x2"}, 4000);
  CheckModel<Injected<1, 1, 2>>({.name = "idle-injected-1x1x2", .threads = 3}, 100'000);
}

TEST_CASE("model: two workers sleep, jobs come from outside") {
  CheckModel<Injected<2, 1>>({.name = "idle-injected-2x1", .threads = 3, .detours = 3}, 10'000);
}

// Two jobs that wait for each other: the second one must not be left until its finder has done the
// first, although only one wake-up is sent while somebody searches.
class Together : public Injected<2, 2> {
 private:
  void RunJob(int worker) override {
    Injected::RunJob(worker);
    if (worker == 0) {
      first_.store(true, std::memory_order_release);
      while (!second_.load(std::memory_order_acquire)) CpuPause();
    } else {
      second_.store(true, std::memory_order_release);
      while (!first_.load(std::memory_order_acquire)) CpuPause();
    }
  }

  std::atomic<bool> first_{false};
  std::atomic<bool> second_{false};
};

TEST_CASE("model: who finds one of two jobs wakes another worker") {
  CheckModel<Together>({.name = "idle-together", .threads = 3, .detours = 3}, 10'000);
}

// Worker 0 publishes a job in its own ring and then blocks until another one has done it.
template <int kThieves>
class Stealing : public Dispatcher {
 public:
  Stealing() : Dispatcher(1 + kThieves, false) {}
  void Run(int thread) override {
    if (thread > 0) return Work(thread);
    job_.data.Write(1);
    Check(rings_[0].TryPush(job_), "the ring is full");
    idle_.NotifyWork();
    while (!done_.load(std::memory_order_acquire)) CpuPause();
  }
  void Finish() override { Check(rings_[0].Empty(), "the job is left"); }

 private:
  bool Take(int worker) override { return rings_[0].StealInto(rings_[worker]) != nullptr; }
  bool HasWork() override { return !rings_[0].Empty(); }
  void RunJob(int) override {
    Check(job_.data.Read() == 1, "the job is not what was published");
    done_.store(true, std::memory_order_release);
    Stop();
  }

  std::array<RunQueue<2>, 1 + kThieves> rings_;
  Job job_;
  std::atomic<bool> done_{false};
};

TEST_CASE("model: a worker blocks, others find what is in its ring, and stop") {
  CheckModel<Stealing<1>>({.name = "idle-stealing-1"}, 30);
  CheckModel<Stealing<2>>({.name = "idle-stealing-2", .threads = 3, .detours = 3}, 30'000);
}

// A tree of as many jobs as there are workers: each makes two more ready in its worker's ring, and then blocks until
// all have begun. So each job needs a worker of its own, and all but the first one have to be woken or to find it in
// time.
class Sixteen : public Dispatcher {
 public:
  Sixteen() : Dispatcher(kWorkers, false) {}
  void Run(int thread) override {
    if (thread == 0) RunNumber(0, 0);
    Work(thread);
  }
  void Finish() override {
    Check(ended_.load() == kWorkers, "a job was not done once");
    Check(!HasWork(), "a job is left");
  }

 private:
  static constexpr int kWorkers = 16;

  struct Numbered final : Schedulable {
    TurnEnd RunTurn() override { return TurnEnd::kIdle; }
    Plain<int> number{0};  // written by who publishes the job
  };

  bool Take(int worker) override {
    Schedulable* job = rings_[worker].Pop();
    for (int i = 1; job == nullptr && i < kWorkers; ++i) {
      job = rings_[(worker + i) % kWorkers].StealInto(rings_[worker]);
    }
    taken_[worker] = static_cast<Numbered*>(job);
    return job != nullptr;
  }
  bool HasWork() override {
    return std::any_of(rings_.begin(), rings_.end(), [](auto& ring) { return !ring.Empty(); });
  }
  void RunJob(int worker) override { RunNumber(worker, taken_[worker]->number.Read()); }
  void RunNumber(int worker, int number) {
    for (const int next : {2 * number + 1, 2 * number + 2}) {
      if (next >= kWorkers) continue;
      jobs_[next].number.Write(next);
      Check(rings_[worker].TryPush(jobs_[next]), "the ring is full");
      idle_.NotifyWork();
    }
    begun_.fetch_add(1, std::memory_order_acq_rel);
    while (begun_.load(std::memory_order_acquire) < kWorkers) CpuPause();
    if (ended_.fetch_add(1, std::memory_order_acq_rel) == kWorkers - 1) Stop();
  }

  std::array<RunQueue<4>, kWorkers> rings_;
  std::array<Numbered, kWorkers> jobs_;
  std::array<Numbered*, kWorkers> taken_{};  // each its worker's own
  std::atomic<int> begun_{0};
  std::atomic<int> ended_{0};
};

TEST_CASE("model: sixteen workers find sixteen jobs that wait for each other") {
  CheckModel<Sixteen>({.name = "idle-sixteen", .threads = 16, .seeds = 2000}, 2000);
}

// A job from outside makes another one ready in its worker's private slot, which nobody is told
// about, and blocks until that is done: the rescuer has to find it.
class Stranded : public Dispatcher {
 public:
  Stranded() : Dispatcher(2, true) {}
  void Run(int thread) override {
    if (thread < 2) return Work(thread);
    injected_.store(true, std::memory_order_seq_cst);
    idle_.NotifyWork();
  }

 private:
  bool Take(int worker) override {
    if (injected_.load(std::memory_order_relaxed) && injected_.exchange(false)) return true;
    stranded_[worker] = slots_[1 - worker].exchange(0, std::memory_order_acquire) != 0;
    return stranded_[worker];
  }
  bool HasWork() override { return injected_.load(std::memory_order_seq_cst); }
  void RunJob(int worker) override {
    if (stranded_[worker]) {
      Check(data_.Read() == 1, "the job is not what was published");
      done_.store(true, std::memory_order_release);
      Stop();
    } else {
      data_.Write(1);
      slots_[worker].store(1, std::memory_order_release);
      idle_.EnsureRescuer();
      while (!done_.load(std::memory_order_acquire)) CpuPause();
    }
  }

  std::atomic<bool> injected_{false};
  std::array<std::atomic<int>, 2> slots_{};
  std::atomic<bool> done_{false};
  Plain<int> data_{0};
  std::array<bool, 2> stranded_{};  // what a worker has taken comes from the slot
};

TEST_CASE("model: a worker blocks, the rescuer finds what is in its slot") {
  CheckModel<Stranded>({.name = "idle-stranded", .threads = 3, .detours = 3, .timeouts = 1},
                       30'000);
}

// The same, but the job makes two others ready: the first one goes where all look, and whoever is woken for it blocks
// with it, too. Both end when the second one, in the slot, has been done by a third worker.
class StrandedBeside : public Dispatcher {
 public:
  StrandedBeside() : Dispatcher(kWorkers, true) {}
  void Run(int thread) override {
    if (thread < kWorkers) return Work(thread);
    injected_.store(true, std::memory_order_seq_cst);
    idle_.NotifyWork();
  }

 private:
  static constexpr int kWorkers = 3;
  enum class Task { kFirst, kBeside, kStranded };

  bool Take(int worker) override {
    const auto me = static_cast<std::size_t>(worker);
    if (injected_.load(std::memory_order_relaxed) && injected_.exchange(false)) {
      tasks_[me] = Task::kFirst;
      return true;
    }
    if (beside_.load(std::memory_order_relaxed) && beside_.exchange(false)) {
      tasks_[me] = Task::kBeside;
      return true;
    }
    tasks_[me] = Task::kStranded;
    return slot_.load(std::memory_order_relaxed) && slot_.exchange(false);
  }
  bool HasWork() override {
    return injected_.load(std::memory_order_seq_cst) || beside_.load(std::memory_order_seq_cst);
  }
  void RunJob(int worker) override {
    switch (tasks_[static_cast<std::size_t>(worker)]) {
      case Task::kFirst:
        idle_.EnsureRescuer();  // as for the one that is in the slot first
        slot_.store(true, std::memory_order_release);
        beside_.store(true, std::memory_order_seq_cst);
        idle_.NotifyWork();
        idle_.EnsureRescuer();
        break;
      case Task::kBeside:
        break;
      case Task::kStranded:
        done_.store(true, std::memory_order_release);
        Stop();
        return;
    }
    while (!done_.load(std::memory_order_acquire)) CpuPause();
  }

  std::atomic<bool> injected_{false};
  std::atomic<bool> beside_{false};
  std::atomic<bool> slot_{false};
  std::atomic<bool> done_{false};
  std::array<Task, kWorkers> tasks_{};  // each its worker's own
};

TEST_CASE("model: two workers block, a third one finds what is in the slot of the first") {
  CheckModel<StrandedBeside>(
      {.name = "idle-stranded-beside", .threads = 4, .detours = 2, .timeouts = 1}, 10'000);
}

// The first job, which its worker has found already, tells nobody but EnsureRescuer of what is in its slot. The second one
// comes from outside.
class StrandedApart : public Dispatcher {
 public:
  StrandedApart() : Dispatcher(kWorkers, true) {}
  void Run(int thread) override {
    if (thread < kWorkers) return Work(thread);
    second_.store(true, std::memory_order_seq_cst);
    idle_.NotifyWork();
  }

 private:
  static constexpr int kWorkers = 3;
  enum class Task { kFirst, kSecond, kStranded };

  bool Take(int worker) override {
    Task& task = tasks_[static_cast<std::size_t>(worker)];
    task = Task::kFirst;
    if (worker == kWorkers - 1 && std::exchange(has_first_, false)) return true;
    task = Task::kSecond;
    if (second_.load(std::memory_order_relaxed) && second_.exchange(false)) return true;
    task = Task::kStranded;
    return slot_.load(std::memory_order_relaxed) && slot_.exchange(false);
  }
  bool HasWork() override { return second_.load(std::memory_order_seq_cst); }
  void RunJob(int worker) override {
    const Task task = tasks_[static_cast<std::size_t>(worker)];
    if (task == Task::kStranded) {
      done_.store(true, std::memory_order_release);
      return Stop();
    }
    if (task == Task::kFirst) {
      slot_.store(true, std::memory_order_release);
      idle_.EnsureRescuer();
    }
    while (!done_.load(std::memory_order_acquire)) CpuPause();
  }

  bool has_first_ = true;  // the last worker's own
  std::atomic<bool> second_{false};
  std::atomic<bool> slot_{false};
  std::atomic<bool> done_{false};
  std::array<Task, kWorkers> tasks_{};  // each its worker's own
};

TEST_CASE("model: of three workers the rescuer, just left, is blocked, and another one goes on") {
  CheckModel<StrandedApart>(
      {.name = "idle-stranded-apart", .threads = 4, .detours = 3, .timeouts = 1}, 300'000);
}

}  // namespace
}  // namespace ergon::model
