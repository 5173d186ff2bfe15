// Process::Async and gen::Parallel, from processes of both kinds.
#include <atomic>
#include <future>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ergon/act/pool.h>
#include <ergon/gen/parallel.h>

#include "subject.h"

namespace ergon::node {
namespace {

// Runs a function in a process made of a function, and returns what it returns.
template <class R>
R InTaskOwner(Node& node, std::function<R(gen::Process&)> function) {
  auto promise = std::make_shared<std::promise<R>>();
  auto future = promise->get_future();
  auto pid =
      node.Spawn([promise, function](gen::Process& self) { promise->set_value(function(self)); });
  REQUIRE(pid);
  R result = future.get();
  CHECK(node.WaitProcess(*pid, 10s));
  return result;
}

Node StartForTasks() { return Start("task@localhost", {.log_level = gen::LogLevel::kOff}).value(); }

TEST_CASE("task: its value, an error, an exception, nothing") {
  Node node = StartForTasks();
  const auto text = InTaskOwner<std::string>(node, [](gen::Process& self) {
    auto value = self.Async([] { return 6 * 7; });
    auto error = self.Async([]() -> gen::Result<int> { return gen::Error("none left"); });
    auto thrown = self.Async([]() -> int { throw std::runtime_error("bad luck"); });
    auto nothing = self.Async([] {});
    auto refused = self.Async([]() -> gen::Result<void> { return gen::ErrTimeout; });
    CHECK(refused->Await().error() == gen::ErrTimeout);
    CHECK(refused->Await().error() == gen::ErrNotAllowed);  // nothing goes on
    auto own = self.Async([](gen::Process& task) { return task.Parent(); });
    return std::to_string(value->Await().value()) + ", " + error->Await().error().ToString() +
           ", " + thrown->Await().error().ToString() + ", " + (nothing->Await() ? "done" : "?") +
           ", " + (own->Await().value() == self.Self() ? "child" : "?");
  });
  CHECK(text == "42, none left, panic: bad luck, done, child");
  CHECK(kit::Eventually([&] { return node.Info().processes == 0; }));
}

// Its second move throws.
struct MovesOnce {
  MovesOnce() = default;
  MovesOnce(MovesOnce&& other) : moves(other.moves + 1) {
    if (moves > 1) throw std::runtime_error("moved twice");
  }
  int moves = 0;
};

TEST_CASE("task: a result that cannot be moved is an error, and not the end of the owner") {
  Node node = StartForTasks();
  const auto text = InTaskOwner<std::string>(node, [](gen::Process& self) {
    auto thrown = self.Async([]() -> gen::Result<MovesOnce> { return MovesOnce(); });
    return thrown->Await().error().ToString();
  });
  CHECK(text == "panic: moved twice");
}

TEST_CASE("task: one that receives whatever comes does not take what its owner waits with") {
  Node node = StartForTasks();
  const int sum = InTaskOwner<int>(node, [](gen::Process& self) {
    const auto values =
        gen::Parallel(self, std::vector<int>{1, 2, 3}, [](gen::Process& task, int& item) {
          while (task.Receive<gen::OtherMessage>(10ms)) {
          }
          return item;
        });
    int all = 0;
    for (const auto& value : values.value()) all += value.value();
    auto one = self.Async([](gen::Process& task) {
      (void)task.Receive<gen::OtherMessage>(10ms);
      return 10;
    });
    return all + one->Await(kit::kDeadline).value();
  });
  CHECK(sum == 16);
}

TEST_CASE("task: tasks run at the same time, and others get their turns meanwhile") {
  constexpr int kTasks = 100;
  Node node = StartForTasks();
  std::atomic<int> begun{0};
  const int sum = InTaskOwner<int>(node, [&](gen::Process& self) {
    std::vector<gen::Task<int>> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(std::move(*self.Async([&](gen::Process& task) {
        ++begun;
        while (begun < kTasks) (void)task.Sleep(1ms);  // no task ends before each has begun
        return 1;
      })));
    }
    int ended = 0;
    for (auto& task : tasks) ended += task.Await().value();
    return ended;
  });
  CHECK(sum == kTasks);
}

TEST_CASE("task: a time-out leaves it running, and it may be awaited again, once") {
  Node node = StartForTasks();
  std::promise<void> open;
  auto gate = open.get_future().share();
  const auto text = InTaskOwner<std::string>(node, [&](gen::Process& self) {
    auto slow = self.Async([](gen::Process& task) { return task.Receive<int>().value(); });
    std::string all = slow->Await(0ms).error() == gen::ErrIncorrect ? "refused " : "?";
    all += slow->Await(10ms).error() == gen::ErrTimeout ? "late " : "?";
    (void)self.Send(slow->Pid(), 5);
    all += std::to_string(slow->Await().value());
    return all + " " + slow->Await().error().ToString();
  });
  CHECK(text == "refused late 5 not allowed: Await: the task has been awaited or cancelled before");
}

TEST_CASE("task: it ends with its owner, by Cancel, and when nobody keeps it") {
  Node node = StartForTasks();
  const auto forever = [](gen::Process& task) { (void)task.Receive<int>(); };
  auto owner = node.Spawn([&](gen::Process& self) {
    auto kept = self.Async(forever);
    auto done = self.Async([] { return 1; });
    auto cancelled = self.Async(forever);
    cancelled->Cancel();
    { auto dropped = self.Async(forever); }
    (void)self.Receive<int>();
    throw std::runtime_error("gone");
  });
  CHECK(kit::Eventually([&] { return node.Info().processes == 3; }));
  CHECK(node.Send(*owner, 1));
  CHECK(kit::Eventually([&] { return node.Info().processes == 0; }));
}

TEST_CASE("task: of an actor that traps exits nothing is heard but its value") {
  TestNode t;
  std::atomic<int> messages{0};
  const gen::PID pid = t.Spawn({.init =
                                    [](Subject& self, const gen::Args&) {
                                      self.SetTrapExit(true);
                                      return gen::Continue();
                                    },
                                .message =
                                    [&](Subject&, gen::PID, gen::Message&) {
                                      ++messages;
                                      return gen::Continue();
                                    }});
  CHECK(t.Run(pid, [](Subject& self) {
    auto value = self.Async([] { return 3; });
    CHECK(value->Await().value() == 3);
    {
      auto dropped = self.Async([](gen::Process& task) { (void)task.Sleep(10s); });
    }
  }));
  CHECK(kit::Eventually([&] { return t.node.Info().processes == 1; }));
  CHECK(messages == 0);
}

TEST_CASE("task: a result that is there before its process is ended is not lost") {
  Node node = StartForTasks();
  const int value = InTaskOwner<int>(node, [&](gen::Process& self) {
    self.SetTrapExit(true);
    auto task = self.Async([] { return 7; });
    // For its owner: the function has returned.
    const auto waits = [&] {
      const gen::ProcessState state = node.ProcessInfo(task->Pid())->state;
      return state == gen::ProcessState::kWaiting || state == gen::ProcessState::kIdle;
    };
    while (!waits()) CHECK(self.Sleep(1ms));
    CHECK(node.Kill(task->Pid()));
    CHECK(self.Receive<gen::MessageExitPID>(kit::kDeadline));
    return task->Await().value_or(0);
  });
  CHECK(value == 7);
}

TEST_CASE(
    "task: its result, and those of parallel tasks, come before what is heard of their ends") {
  Node node = StartForTasks();
  const int heard = InTaskOwner<int>(node, [](gen::Process& self) {
    self.SetTrapExit(true);
    int ends = 0;
    for (int i = 0; i < 100; ++i) {
      auto task = self.Async([i] { return i; });
      CHECK(self.Monitor(task->Pid()));  // its notice goes before messages
      CHECK(task->Await() == i);
      CHECK(self.Receive<gen::MessageDownPID>(10s));
      const auto outcomes =
          gen::Parallel(self, std::vector<int>(10, i), [](int& item) { return item; });
      for (const auto& outcome : *outcomes) CHECK(outcome == i);
      if (self.Receive<gen::MessageExitPID>(0ns)) ++ends;
    }
    return ends;
  });
  CHECK(heard == 0);
}

struct HalfOf {
  using Reply = int;
  int value;
};
class HalfWorker : public act::Actor {
  gen::CallResult HandleCall(gen::PID, gen::Ref, gen::Message& request) override {
    const int value = request.As<HalfOf>()->value;
    if (value % 2 != 0) return gen::ReplyError(gen::Error("odd: " + std::to_string(value)));
    return gen::Reply(value / 2);
  }
};
class HalfPool : public act::Pool {
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = 3, .worker_factory = gen::Factory<HalfWorker>()};
  }
};

TEST_CASE("task: one that calls its owner is told of the deadlock, or the owner is, and it ends") {
  Node node = StartForTasks();
  const auto text = InTaskOwner<std::string>(node, [](gen::Process& self) {
    auto circle = self.Async([owner = self.Self()](gen::Process& task) -> gen::Result<int> {
      return task.Call<int>(owner, 1, {.timeout = 10s});
    });
    return circle->Await(10s).error().ToString();
  });
  CHECK(text.find("deadlock") == 0);
  CHECK(kit::Eventually([&] { return node.Info().processes == 0; }));
}

TEST_CASE("parallel: a task that is killed leaves the rest to the others") {
  Node node = StartForTasks();
  std::atomic<int> begun{0};
  InTaskOwner<int>(node, [&](gen::Process& self) {
    self.SetTrapExit(true);
    auto outcomes = gen::Parallel(self, std::vector<int>(50, 1),
                                  [&](gen::Process& task, int& number) {
                                    if (++begun == 3) (void)task.Node().Kill(task.Self());
                                    (void)task.Sleep(1us);
                                    return number;
                                  },
                                  {.at_once = 4});
    int lost = 0;
    for (const auto& outcome : *outcomes) lost += outcome ? 0 : 1;
    CHECK(lost <= 1);
    return 0;
  });
  CHECK(begun == 50);
}

TEST_CASE("parallel: the only task is killed: what was not begun says that") {
  Node node = StartForTasks();
  InTaskOwner<int>(node, [&](gen::Process& self) {
    self.SetTrapExit(true);
    auto outcomes = gen::Parallel(self, std::vector<int>{1, 2, 3},
                                  [&](gen::Process& task, int& number) {
                                    (void)task.Node().Kill(task.Self());
                                    (void)task.Sleep(1h);
                                    return number;
                                  },
                                  {.at_once = 1});
    REQUIRE(outcomes);
    CHECK(outcomes->at(0) == 1);
    CHECK(outcomes->at(1).error() == gen::ErrProcessTerminated);
    CHECK(outcomes->at(2).error() == gen::ErrProcessTerminated);
    return 0;
  });
}

TEST_CASE("parallel: over a pool, in the order of the items, bounded") {
  Node node = StartForTasks();
  auto pool = node.Spawn(gen::Factory<HalfPool>());
  REQUIRE(pool);
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  InTaskOwner<int>(node, [&](gen::Process& self) {
    std::vector<int> numbers(200);
    std::iota(numbers.begin(), numbers.end(), 0);
    auto halves = gen::Parallel(
        self, numbers,
        [&](gen::Process& task, int& number) {
          const int at_once = ++now;
          for (int seen = most; seen < at_once && !most.compare_exchange_weak(seen, at_once);) {
          }
          auto half = task.Call(*pool, HalfOf{number});
          --now;
          return half;
        },
        {.at_once = 5});
    REQUIRE(halves);
    REQUIRE(halves->size() == 200);
    for (int i = 0; i < 200; ++i) {
      const auto& half = (*halves)[static_cast<std::size_t>(i)];
      if (i % 2 == 0) {
        CHECK(half.value() == i / 2);
      } else {
        CHECK(half.error().detail() == "odd: " + std::to_string(i));
      }
    }
    return 0;
  });
  CHECK(most <= 5);
}

TEST_CASE("parallel: one that throws, a time-out, no items, wrong options") {
  Node node = StartForTasks();
  InTaskOwner<int>(node, [&](gen::Process& self) {
    const auto work = [](gen::Process& task, int& number) {
      if (number == 1) throw std::runtime_error("one");
      if (number == 2 && !task.Sleep(1h)) throw std::runtime_error("not reached in time");
      return number;
    };
    auto some = gen::Parallel(self, std::vector{0, 1, 2, 3}, work, {.at_once = 2, .timeout = 2s});
    REQUIRE(some);
    CHECK((*some)[0].value() == 0);
    CHECK((*some)[1].error().detail() == "panic: one");
    CHECK((*some)[2].error() == gen::ErrTimeout);  // it was killed, and nobody heard what it threw
    CHECK((*some)[3].value() == 3);
    CHECK(gen::Parallel(self, std::vector<int>(), work)->empty());
    auto none = gen::Parallel(self, std::vector{0}, work, {.at_once = 0});
    CHECK(none.error().detail() == "at_once: 0, has to be at least 1");
    auto never = gen::Parallel(self, std::vector{0}, work, {.timeout = 0s});
    CHECK(never.error().detail() == "timeout: 0, has to be more than 0");
    return 0;
  });
  CHECK(kit::Eventually([&] { return node.Info().processes == 0; }));
}

}  // namespace
}  // namespace ergon::node
