// act::Pool under many interleavings and faults: what it promises holds at every seed.
#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <utility>

#include <ergon/act/actor.h>
#include <ergon/act/broadcast_answers.h>
#include <ergon/act/pool.h>
#include <ergon/testkit/simulation.h>

namespace ergon::testkit::pool_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

struct Job {
  int number = 0;
};
struct Resize {
  int workers = 0;  // more, or less
};

// How often each job was handled; shared by all workers of a run.
using Handled = std::vector<int>;

class Worker : public act::Actor {
 public:
  explicit Worker(Handled* handled) : handled_(handled) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    Handle(*message.As<Job>());
    return gen::Continue();
  }
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    Handle(*request.As<Job>());
    return gen::Reply(request.As<Job>()->number);
  }
  void Handle(const Job& job) {
    ++(*handled_)[static_cast<std::size_t>(job.number)];
    if (job.number % 3 == 0) (void)Sleep(1ms);
  }

  Handled* handled_;
};

class Pool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args& args) override {
    return args.Get<act::PoolOptions>(0).value();
  }
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const int workers = message.As<Resize>()->workers;
    // What would leave no worker is refused; that is tested elsewhere.
    if (workers > 0) (void)AddWorkers(workers);
    if (workers < 0) (void)RemoveWorkers(-workers);
    return gen::Continue();
  }
};

act::PoolStrategy AnyStrategy(Simulation& sim) {
  switch (sim.Random(0, 4)) {
    case 0:
      return act::PoolStrategy::Rotation();
    case 1:
      return act::PoolStrategy::LeastLoaded();
    case 2:
      return act::PoolStrategy::Random(static_cast<std::uint64_t>(sim.Random(0, 100)));
    case 3:
      return act::PoolStrategy::ByKey<Job>([](const Job& job) { return job.number % 7; });
    default:
      return act::PoolStrategy::SharedQueue();
  }
}

// A pool with random options whose workers fail in all the ways there are, or in none.
gen::PID StartPool(Simulation& sim, gen::Node& node, Handled& handled, bool faulty) {
  Faults faults;
  if (faulty) {
    faults.throw_before = 0.05;
    faults.throw_after = 0.05;
    faults.stop_after = 0.05;
    faults.kill = 0.05;
    faults.slow = 0.1;
  }
  auto factory = sim.WithFaults(gen::Factory<Worker>(&handled), faults);
  if (faulty) {
    // The first workers start; later ones fail at times.
    auto calls = std::make_shared<int>(0);
    auto fails = sim.WithFaults(factory, {.factory_failure = 0.2, .init_failure = 0.2});
    factory = gen::ProcessFactory(
        [calls, factory, fails] { return ++*calls <= 8 ? factory.Make() : fails.Make(); },
        factory.type());
  }
  const int size = static_cast<int>(sim.Random(1, 8));
  std::optional<act::PoolAutoscale> autoscale;
  if (sim.Chance(0.3)) {
    autoscale = act::PoolAutoscale{.min = static_cast<int>(sim.Random(1, size)),
                                   .max = static_cast<int>(sim.Random(size, 12)),
                                   .target_wait = sim.Random(1us, 5ms),
                                   .shrink_after = 1s};
  }
  const act::PoolOptions options{.pool_size = size,
                                 .autoscale = autoscale,
                                 .worker_factory = factory,
                                 .worker_mailbox_size = static_cast<int>(sim.Random(0, 5)),
                                 .strategy = AnyStrategy(sim),
                                 .restart_backoff_min = 1ms,
                                 .restart_backoff_max = 10ms};
  return node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
}

std::uint64_t Figure(gen::Node& node, gen::PID pool, const std::string& key) {
  return std::stoull(node.Inspect(pool).value().at(key));
}

void Disturb(Simulation& sim, gen::Node& node, gen::PID pool) {
  for (std::int64_t i = sim.Random(0, 4); i > 0; --i)
    sim.KillRandomChild(pool, sim.Random(0us, 5ms));
  for (std::int64_t i = sim.Random(0, 4); i > 0; --i) {
    sim.After(sim.Random(0us, 5ms), [&sim, &node, pool] {
      (void)node.SendWithPriority(pool, Resize{static_cast<int>(sim.Random(-3, 3))},
                                  gen::MessagePriority::kHigh);
    });
  }
}

constexpr int kJobs = 100;

void CheckMessages(Simulation& sim, bool faulty) {
  Handled handled(kJobs);
  auto& node = sim.Node("test@localhost");
  const gen::PID pool = StartPool(sim, node, handled, faulty);
  std::set<int> accepted;
  for (int i = 0; i < kJobs; ++i) {
    sim.After(sim.Random(0us, 5ms), [&accepted, &node, pool, i] {
      const auto sent = node.Send(pool, Job{i});
      if (sent) {
        accepted.insert(i);
      } else {
        CHECK(sent.error() == gen::ErrProcessMailboxFull);
      }
    });
  }
  if (faulty) Disturb(sim, node, pool);
  sim.RunUntilIdle();
  std::uint64_t unhandled = 0;
  for (int i = 0; i < kJobs; ++i) {
    const int times = handled[static_cast<std::size_t>(i)];
    CHECK(times <= (accepted.contains(i) ? 1 : 0));
    if (accepted.contains(i) && times == 0) ++unhandled;
  }
  const std::uint64_t lost = Figure(node, pool, "messages_lost");
  CHECK(unhandled <= lost);
  if (!faulty) CHECK(lost == 0);
  // Whatever crashes, is killed or resized: what was accepted is handled, or ends with who handled it.
  CHECK(lost == Figure(node, pool, "messages_lost_crashed"));
  CHECK(Figure(node, pool, "messages_queued") == 0);
  CHECK(Figure(node, pool, "messages_handled") + lost == accepted.size());
  CHECK(Figure(node, pool, "messages_forwarded") == accepted.size());
  CHECK(Figure(node, pool, "workers_ready") == Figure(node, pool, "pool_size"));
  sim.ExpectConservation();
}

void CheckCalls(Simulation& sim, bool faulty) {
  Handled handled(kJobs);
  auto& node = sim.Node("test@localhost");
  const gen::PID pool = StartPool(sim, node, handled, faulty);
  std::vector<Answer<int>> answers;
  for (int i = 0; i < kJobs; i += 10) {
    sim.After(sim.Random(0us, 5ms), [&answers, &sim, pool, i] {
      for (auto& answer : sim.CallMany<int>(pool, 10, [i](int k) { return Job{i + k}; })) {
        answers.push_back(std::move(answer));
      }
    });
  }
  if (faulty) Disturb(sim, node, pool);
  sim.RunUntilIdle();
  REQUIRE(answers.size() == kJobs);
  for (auto& answer : answers) {
    REQUIRE(answer.ready());
    if (answer.get()) {
      CHECK(handled[static_cast<std::size_t>(*answer.get())] == 1);
    } else {
      const bool died = answer.get().error() == gen::ErrProcessTerminated;
      CHECK((died || answer.get().error() == gen::ErrProcessMailboxFull));
      if (!faulty) CHECK_FALSE(died);
    }
  }
  for (const int times : handled) CHECK(times <= 1);
  sim.ExpectConservation();
}

// The whole node, or only the pool, ends at some moment: everybody is told, nothing is left.
void CheckEnd(Simulation& sim) {
  Handled handled(kJobs);
  auto& node = sim.Node("test@localhost");
  const gen::PID pool = StartPool(sim, node, handled, true);
  std::vector<Answer<int>> answers = sim.CallMany<int>(pool, kJobs, [](int i) { return Job{i}; });
  Disturb(sim, node, pool);
  const bool whole_node = sim.Chance(0.5);
  if (whole_node) {
    sim.StopNode("test@localhost", sim.Random(0us, 10ms));
  } else if (sim.Chance(0.5)) {
    sim.Kill(pool, sim.Random(0us, 10ms));
  } else {
    sim.After(sim.Random(0us, 10ms),
              [&node, pool] { (void)node.SendExit(pool, gen::Reason::Shutdown()); });
  }
  sim.RunUntilIdle();
  for (auto& answer : answers) CHECK(answer.ready());
  for (const int times : handled) CHECK(times <= 1);
  CHECK(node.Info().processes == 0);
  CHECK(node.Info().timers == 0);
  if (!whole_node) CHECK(node.Send(pool, Job{0}).error() == gen::ErrProcessTerminated);
  sim.ExpectConservation();
}

// One sender, keys, crashes and resizes: each key's jobs are handled in the order sent, never two at once.
class KeyedWorker : public act::Actor {
 public:
  struct Diary {
    std::vector<int> order;
    std::set<int> keys_now;
    bool overlapped = false;
  };
  static int KeyOf(const Job& job) { return job.number % 5; }

  explicit KeyedWorker(Diary* diary) : diary_(diary) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    const Job job = *message.As<Job>();
    const int key = KeyOf(job);
    diary_->order.push_back(job.number);
    if (!diary_->keys_now.insert(key).second) diary_->overlapped = true;
    const bool ended = !Sleep(std::chrono::microseconds(100 * (job.number % 7)));
    diary_->keys_now.erase(key);
    if (job.number % 13 == 12) throw std::runtime_error("unlucky");
    return ended ? gen::Stop(gen::Reason::Normal()) : gen::Continue();
  }

  Diary* diary_;
};

void CheckKeys(Simulation& sim) {
  KeyedWorker::Diary diary;
  auto& node = sim.Node("test@localhost");
  const act::PoolOptions options{.pool_size = static_cast<int>(sim.Random(1, 5)),
                                 .worker_factory = gen::Factory<KeyedWorker>(&diary),
                                 .strategy = act::PoolStrategy::ByKey<Job>(&KeyedWorker::KeyOf),
                                 .restart_backoff_min = 1ms,
                                 .restart_backoff_max = 10ms};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
  for (int i = 0; i < kJobs; ++i) {
    sim.After(std::chrono::microseconds(50 * i),
              [&node, pool, i] { node.Send(pool, Job{i}).value(); });
  }
  Disturb(sim, node, pool);
  sim.RunUntilIdle();
  std::vector<int> last(5, -1);
  for (const int number : diary.order) {
    int& former = last[static_cast<std::size_t>(KeyedWorker::KeyOf({number}))];
    CHECK(number > former);
    former = number;
  }
  CHECK_FALSE(diary.overlapped);
  CHECK(Figure(node, pool, "messages_handled") + Figure(node, pool, "messages_lost_crashed") ==
        kJobs);
  sim.ExpectConservation();
}

// Jobs that take 10 ms each, far more of them than are handled within the limit.
class SlowWorker : public act::Actor {
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    (void)Sleep(10ms);
    return gen::Continue();
  }
};

void CheckAdmission(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  const int size = static_cast<int>(sim.Random(1, 3));
  const act::PoolOptions options{.pool_size = size,
                                 .worker_factory = gen::Factory<SlowWorker>(),
                                 .strategy = AnyStrategy(sim),
                                 .admission_limit = 45ms};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
  for (int i = 0; i < size; ++i) node.Send(pool, Job{i}).value();
  sim.RunUntilIdle();
  std::uint64_t refused = 0;
  std::uint64_t accepted = static_cast<std::uint64_t>(size);
  std::chrono::nanoseconds retry_after{0};
  bool has_called = false;
  for (int i = 0; i < kJobs; ++i) {
    sim.After(std::chrono::microseconds(10 * i), [&, i] {
      const auto sent = node.Send(pool, Job{i});
      if (sent) {
        ++accepted;
        return;
      }
      ++refused;
      CHECK(sent.error() == gen::ErrOverloaded);
      CHECK(sent.error().RetryAfter() > 0ns);
      CHECK(sent.error().RetryAfter() < 45ms);
      retry_after = sent.error().RetryAfter();
      if (std::exchange(has_called, true)) return;
      // A call does not wait for its time-out either.
      auto answers = sim.CallMany<int>(pool, 1, [i](int) { return Job{i}; });
      REQUIRE(answers[0].ready());
      CHECK(answers[0].get().error() == gen::ErrOverloaded);
      CHECK(answers[0].get().error().RetryAfter() > 0ns);
      ++refused;
    });
  }
  sim.RunFor(2ms);
  CHECK(refused > 0);
  // Each worker: the first one, what it handles, and what it would handle within the limit; and what was on
  // its way when the pool closed.
  CHECK(accepted <= static_cast<std::uint64_t>(size) * 10);
  CHECK(Figure(node, pool, "messages_overloaded") == refused);
  // After the hint there is room again; when one worker has most of the keys, after twice that.
  sim.RunFor(2 * retry_after + 11ms);
  CHECK(node.Send(pool, Job{0}).has_value());
  sim.RunUntilIdle();
  CHECK(Figure(node, pool, "messages_handled") == accepted + 1);
  sim.ExpectConservation();
}

// Workers that crash, are killed, come and go: nobody gets a message twice, each call has one outcome for
// each worker that it met.
void CheckBroadcast(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  Handled handled(kJobs);
  const Faults faults{.throw_before = 0.02, .stop_after = 0.02, .kill = 0.02, .slow = 0.1};
  const act::PoolOptions options{
      .pool_size = static_cast<int>(sim.Random(1, 5)),
      .worker_factory = sim.WithFaults(gen::Factory<Worker>(&handled), faults),
      .worker_mailbox_size = static_cast<int>(sim.Random(0, 5)),
      .strategy = act::PoolStrategy::Broadcast<Job>(),
      .restart_backoff_min = 1ms,
      .restart_backoff_max = 10ms};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
  for (int i = 0; i < kJobs / 2; ++i) {
    sim.After(sim.Random(0us, 5ms), [&node, pool, i] { (void)node.Send(pool, Job{i}); });
  }
  std::vector<Answer<act::BroadcastAnswers>> answers;
  for (int i = 0; i < 10; ++i) {
    sim.After(sim.Random(0us, 5ms), [&answers, &sim, pool] {
      for (auto& answer :
           sim.CallMany<act::BroadcastAnswers>(pool, 1, [](int) { return Job{kJobs - 1}; })) {
        answers.push_back(std::move(answer));
      }
    });
  }
  Disturb(sim, node, pool);
  sim.RunUntilIdle();
  for (auto& answer : answers) {
    REQUIRE(answer.ready());
    if (answer.get()) {
      CHECK(answer.get()->size() >= 1);
    } else {
      const auto code = answer.get().error().code();
      CHECK((code == gen::ErrorCode::kProcessMailboxFull || code == gen::ErrorCode::kTimeout));
    }
  }
  CHECK(Figure(node, pool, "messages_queued") == 0);
  CHECK(Figure(node, pool, "messages_forwarded") ==
        Figure(node, pool, "messages_handled") + Figure(node, pool, "messages_lost"));
  sim.ExpectConservation();
}

struct First {};
struct Second {};
struct Other {};

// Puts the first one aside until the second has come.
class Pairing : public act::Actor {
 public:
  explicit Pairing(int* handled) : handled_(handled) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    if (message.Is<Other>()) return gen::Continue();
    if (message.Is<First>() && !has_second_) {
      CHECK(Stash(message));
      return gen::Continue();
    }
    ++*handled_;
    has_second_ = true;
    (void)UnstashAll();
    return gen::Continue();
  }

  int* handled_;
  bool has_second_ = false;
};

// What others send to the worker does not keep it from what it waits for, also when the pool ends.
void CheckAside(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  int handled = 0;
  const act::PoolOptions options{
      .pool_size = 1,
      .worker_factory = gen::Factory<Pairing>(&handled),
      .strategy = sim.Chance(0.5)
                      ? act::PoolStrategy::SharedQueue()
                      : act::PoolStrategy::ByKey<First, Second>([](const auto&) { return 1; })};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
  gen::PID worker;
  for (const gen::PID pid : node.ProcessList()) {
    if (node.ProcessInfo(pid)->parent == pool) worker = pid;
  }
  for (int i = 0; i < 5; ++i) {
    sim.After(sim.Random(0us, 100us), [&node, worker] { (void)node.Send(worker, Other{}); });
  }
  node.Send(pool, First{}).value();
  sim.After(sim.Random(0us, 100us), [&node, pool] { node.Send(pool, Second{}).value(); });
  if (sim.Chance(0.5)) {
    sim.RunFor(101us);
    CHECK(node.StopProcess(pool));
  }
  sim.RunUntilIdle();
  CHECK(handled == 2);
  sim.ExpectConservation();
}

class TickWorker : public act::Actor {
 public:
  explicit TickWorker(int* ticks) : ticks_(ticks) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    ++*ticks_;
    (void)Sleep(10ms);
    return gen::Continue();
  }

  int* ticks_;
};

// A pool that cannot keep up with a periodic send has one tick waiting, and none after the cancellation.
void CheckTicks(Simulation& sim) {
  auto& node = sim.Node("test@localhost");
  int ticks = 0;
  const bool broadcast = sim.Chance(0.2);
  const act::PoolOptions options{
      .pool_size = 2,
      .worker_factory = gen::Factory<TickWorker>(&ticks),
      .strategy = broadcast ? act::PoolStrategy::Broadcast<Job>() : AnyStrategy(sim)};
  const gen::PID pool = node.Spawn(gen::Factory<Pool>(), {}, gen::MakeArgs(options)).value();
  const gen::TimerHandle every = node.SendEvery(pool, Job{1}, 1ms).value();
  for (int i = 0; i < 30; ++i) {
    sim.RunFor(sim.Random(1ms, 3ms));
    // Of a broadcast, each worker has a copy.
    CHECK(Figure(node, pool, "messages_queued") <= (broadcast ? 2 : 1));
  }
  CHECK(ticks > 2);
  CHECK(every.Cancel());
  const int so_far = ticks;
  sim.RunUntilIdle();
  CHECK(ticks == so_far);
  sim.ExpectConservation();
}

TEST_CASE("pool simulation: messages without faults are all handled") {
  Simulation::ForSeeds(1, 200, [](Simulation& sim) { CheckMessages(sim, false); });
}
TEST_CASE("pool simulation: messages with faults are handled once, or counted as lost") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) { CheckMessages(sim, true); });
}
TEST_CASE("pool simulation: calls without faults are answered, or refused for want of room") {
  Simulation::ForSeeds(1, 200, [](Simulation& sim) { CheckCalls(sim, false); });
}
TEST_CASE("pool simulation: calls with faults have one outcome each") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) { CheckCalls(sim, true); });
}
TEST_CASE("pool simulation: the end of a pool or a node leaves nobody waiting") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) { CheckEnd(sim); });
}

TEST_CASE("pool simulation: a key's messages are handled in order, one at a time") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) { CheckKeys(sim); });
}
TEST_CASE("pool simulation: a broadcast with faults adds up, and calls get what there is") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) { CheckBroadcast(sim); });
}
TEST_CASE("pool simulation: a worker that has put something aside gets the next one") {
  Simulation::ForSeeds(1, 400, [](Simulation& sim) { CheckAside(sim); });
}
TEST_CASE("pool simulation: one tick of a periodic send waits, and none is handled after its end") {
  Simulation::ForSeeds(1, 200, [](Simulation& sim) { CheckTicks(sim); });
}
TEST_CASE("pool simulation: what would wait too long is refused, with a hint") {
  Simulation::ForSeeds(1, 100, [](Simulation& sim) { CheckAdmission(sim); });
}

}  // namespace
}  // namespace ergon::testkit::pool_test
