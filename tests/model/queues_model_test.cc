// The workers' rings and the queues behind them: each entry is taken once, its owner's order is
// kept, and what it refers to is visible to whoever takes it.
#include "shim.h"

#include "checks.h"

#include <ergon/core/queues/injection_queue.h>
#include <ergon/core/queues/local_queue.h>
#include <ergon/core/queues/run_queue.h>

namespace ergon::model {
namespace {

using core::InjectionQueue;
using core::LocalQueue;
using core::RunQueue;
using core::Schedulable;
using core::TurnEnd;

constexpr int kMaxJobs = 4;

struct Job final : Schedulable {
  TurnEnd RunTurn() override { return TurnEnd::kIdle; }
  Plain<int> data{0};  // 1: published; 2: taken
};

class Jobs : public Model {
 protected:
  Schedulable& Publish(int number) {
    jobs_[static_cast<std::size_t>(number)].data.Write(1);
    return jobs_[static_cast<std::size_t>(number)];
  }
  // Its number, or -1 for null.
  int Taken(Schedulable* schedulable) {
    if (schedulable == nullptr) return -1;
    Job* job = static_cast<Job*>(schedulable);
    Check(job >= jobs_.data() && job < jobs_.data() + kMaxJobs, "an entry that nobody pushed");
    Check(job->data.Read() == 1, "taken twice, or before it was published");
    job->data.Write(2);
    return static_cast<int>(job - jobs_.data());
  }
  void CheckTaken(int count) const {
    for (int i = 0; i < count; ++i) {
      Check(jobs_[static_cast<std::size_t>(i)].data.Read() == 2, "an entry is lost");
    }
  }

 private:
  std::array<Job, kMaxJobs> jobs_;
};

// The owner, thread 0, pushes and pops; the others steal into rings of their own.
template <std::uint32_t kCapacity, int kPushes>
class Ring : public Jobs {
 public:
  void Run(int thread) override {
    if (thread > 0) {
      const int first = Taken(rings_[0].StealInto(rings_[thread]));
      const int second = Taken(rings_[thread].Pop());
      Check(second < 0 || second == first + 1, "not the oldest half");
      return;
    }
    int last = -1;
    for (int i = 0; i < kPushes; ++i) {
      while (!rings_[0].TryPush(Publish(i))) PopOne(last);
    }
    PopOne(last);
  }
  void Finish() override {
    for (auto& ring : rings_) {
      while (Taken(ring.Pop()) >= 0) {
      }
      Check(ring.Empty(), "not empty");
    }
    CheckTaken(kPushes);
  }

 private:
  void PopOne(int& last) {
    const int number = Taken(rings_[0].Pop());
    Check(number < 0 || number > last, "the order was changed");
    if (number >= 0) last = number;
  }

  std::array<RunQueue<kCapacity>, 3> rings_;
};

TEST_CASE("model: a ring, its owner and a thief") {
  CheckModel<Ring<2, 4>>({.name = "ring-2"}, 700);
  CheckModel<Ring<4, 4>>({.name = "ring-4"}, 20);
  CheckModel<Ring<2, 3>>({.name = "ring-spurious", .spurious = 1}, 200);
}

TEST_CASE("model: a ring, its owner and two thieves") {
  CheckModel<Ring<2, 3>>({.name = "ring-two-thieves", .threads = 3}, 40'000);
}

// With an overflow: a ring of two entries, three and four pushes.
template <int kPushes>
class Local : public Jobs {
 public:
  void Run(int thread) override {
    if (thread > 0) {
      (void)Taken(queues_[0].StealInto(queues_[thread]));
      return;
    }
    int last = -1;
    for (int i = 0; i < kPushes; ++i) queues_[0].Push(Publish(i));
    for (int i = 0; i < 2; ++i) {
      const int number = Taken(queues_[0].Pop());
      Check(number < 0 || number > last, "the order was changed");
      if (number >= 0) last = number;
    }
  }
  void Finish() override {
    for (auto& queue : queues_) {
      while (Taken(queue.Pop()) >= 0) {
      }
      Check(queue.Empty(), "not empty");
    }
    CheckTaken(kPushes);
  }

 private:
  std::array<LocalQueue<2>, 2> queues_;
};

TEST_CASE("model: a ring that overflows, its owner and a thief") {
  CheckModel<Local<3>>({.name = "local-queue-3"}, 20);
  CheckModel<Local<4>>({.name = "local-queue-4"}, 20);
}

// Two threads push, one of them a batch, and one pops.
class Injection : public Jobs {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      std::array<Schedulable*, 2> batch{&Publish(0), &Publish(1)};
      queue_.Push(batch.data(), batch.size());
    } else if (thread == 1) {
      queue_.Push(Publish(2));
      (void)Taken(queue_.Pop());
    } else {
      std::array<Schedulable*, 2> batch{};
      const std::size_t count = queue_.Pop(batch.data(), batch.size());
      const int first = Taken(batch[0]);
      const int second = Taken(batch[1]);
      Check((first >= 0) + (second >= 0) == static_cast<int>(count), "a wrong count");
      Check(first != 0 || second != 2, "the batch was torn");
      Check(first != 1 || second != 0, "the order was changed");
    }
  }
  void Finish() override {
    while (Taken(queue_.Pop()) >= 0) {
    }
    Check(queue_.Empty(), "not empty");
    CheckTaken(3);
  }

 private:
  InjectionQueue queue_;
};

TEST_CASE("model: the injection queue") {
  CheckModel<Injection>({.name = "injection-queue", .threads = 3}, 20);
}

// The two halves of the protocol in idle_workers.h: who publishes and then looks for sleepers, and
// who says that it sleeps and then looks at the queue, do not miss each other.
template <class Queue>
class Announcement : public Jobs {
 public:
  void Run(int thread) override {
    if (thread == 0) {
      Push(queue_, Publish(0));
      missed_[0] = !sleeps_.load(std::memory_order_seq_cst);
    } else {
      sleeps_.store(true, std::memory_order_seq_cst);
      missed_[1] = queue_.Empty();
    }
  }
  void Finish() override { Check(!missed_[0] || !missed_[1], "both missed each other"); }

 private:
  static void Push(InjectionQueue& queue, Schedulable& job) { queue.Push(job); }
  static void Push(LocalQueue<2>& queue, Schedulable& job) { queue.Push(job); }
  static void Push(RunQueue<2>& queue, Schedulable& job) { (void)queue.TryPush(job); }

  Queue queue_;
  std::atomic<bool> sleeps_{false};
  bool missed_[2]{};
};

TEST_CASE("model: who looks into a queue after it has said that it sleeps misses nothing") {
  CheckModel<Announcement<RunQueue<2>>>({.name = "announcement-ring"}, 3);
  CheckModel<Announcement<LocalQueue<2>>>({.name = "announcement-local"}, 3);
  CheckModel<Announcement<InjectionQueue>>({.name = "announcement-injected"}, 3);
}

}  // namespace
}  // namespace ergon::model
