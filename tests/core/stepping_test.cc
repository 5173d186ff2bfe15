#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ergon/core/stepping.h>
#include <ergon/core/work_sharing.h>
#include "turns.h"

namespace ergon::core::stepping_test {
namespace {

using testing::Endless;
using testing::Task;
using testing::Turn;

std::size_t First(std::size_t) { return 0; }
std::size_t Last(std::size_t count) { return count - 1; }

std::vector<int> OrderOf(SteppingDispatcher::Order order) {
  SteppingDispatcher dispatcher(std::move(order), nullptr);
  std::vector<int> ran;
  std::vector<std::unique_ptr<Turn>> turns;
  for (int i = 0; i < 4; ++i) {
    turns.push_back(std::make_unique<Turn>([&ran, i] {
      ran.push_back(i);
      return ran.size() < 3 ? TurnEnd::kYielded : TurnEnd::kCompleted;
    }));
    dispatcher.Schedule(*turns.back());
  }
  CHECK(dispatcher.RunUntilIdle(100) == 6);
  CHECK(dispatcher.Stats().turns == 6);
  return ran;
}

TEST_CASE("stepping: the order decides") {
  CHECK(OrderOf(&First) == std::vector<int>{0, 1, 2, 3, 0, 1});
  CHECK(OrderOf(&Last) == std::vector<int>{3, 3, 3, 2, 1, 0});
}

TEST_CASE("stepping: one turn at a time, at most so many") {
  SteppingDispatcher dispatcher(&First, nullptr);
  CHECK(dispatcher.Start(nullptr));
  CHECK(std::string(dispatcher.name()) == "stepping");
  CHECK(dispatcher.workers() == 1);
  CHECK(dispatcher.clock() == nullptr);
  CHECK_FALSE(dispatcher.RunOne());
  Endless endless;
  dispatcher.Schedule(endless);
  CHECK(dispatcher.RunOne());
  CHECK(endless.turns == 1);
  CHECK(dispatcher.RunUntilIdle(10) == 10);
  CHECK(endless.turns == 11);
  CHECK(dispatcher.ready() == 1);
  endless.end = true;
  CHECK(dispatcher.RunUntilIdle(10) == 1);
}

TEST_CASE("stepping: bad options") {
  SteppingDispatcher dispatcher(&First, nullptr, {.throughput = 5000});
  std::string error;
  CHECK_FALSE(dispatcher.Start(&error));
  CHECK(error == "throughput: 5000 is outside 1..4096");
}

TEST_CASE("stepping: turns park and are resumed") {
  SteppingDispatcher dispatcher(&First, nullptr);
  CHECK(Worker::Current() == nullptr);
  std::string log;
  Task first(dispatcher, [&](Task& self) {
    log += "1 ";
    CHECK(&Worker::Current()->dispatcher() == &dispatcher);
    CHECK(self.Block());
    log += "3 ";
    CHECK(self.Block());
    log += "5 ";
  });
  Task second(dispatcher, [&](Task& self) {
    log += "2 ";
    first.Wake();
    CHECK(self.Block());
    log += "4 ";
    first.Wake();
  });
  dispatcher.Schedule(first);
  dispatcher.Schedule(second);
  CHECK(dispatcher.RunUntilIdle(100) == 3);
  CHECK(Worker::Current() == nullptr);
  CHECK(log == "1 2 3 ");
  second.Wake();
  dispatcher.RunUntilIdle(100);
  CHECK(log == "1 2 3 4 5 ");
}

TEST_CASE("stepping: waiting runs turns") {
  SteppingDispatcher dispatcher(&First, nullptr);
  Event event;
  int turns = 0;
  Turn turn([&] {
    if (++turns < 5) return TurnEnd::kYielded;
    event.Set();
    return TurnEnd::kCompleted;
  });
  CHECK_FALSE(dispatcher.WaitFor(event, testing::kDeadlineNs));
  dispatcher.Schedule(turn);
  dispatcher.Wait(event);
  CHECK(turns == 5);
  CHECK(dispatcher.WaitFor(event, 0));
}

TEST_CASE("stepping: Stop runs what is ready; inside a turn it is an error") {
  SteppingDispatcher dispatcher(&First, nullptr);
  std::string text;
  int ran = 0;
  Turn second([&] {
    ++ran;
    return TurnEnd::kCompleted;
  });
  Turn first([&] {
    text = dispatcher.Stop();
    dispatcher.SignalStop();
    dispatcher.Schedule(second);
    return TurnEnd::kCompleted;
  });
  dispatcher.Schedule(first);
  CHECK(dispatcher.Stop() == "");
  CHECK(text ==
        "Dispatcher::Stop called from inside a turn: it would wait for itself; use SignalStop");
  CHECK(ran == 1);
  CHECK(dispatcher.Stop() == "");
  CHECK_FALSE(dispatcher.Start(nullptr));
  dispatcher.Schedule(second);
  CHECK(dispatcher.RunUntilIdle(10) == 0);
}

TEST_CASE("stepping: parked turns may be left behind") {
  SteppingDispatcher dispatcher(&First, nullptr);
  Task task(dispatcher, [&](Task& self) { CHECK(self.Block()); });
  dispatcher.Schedule(task);
  dispatcher.RunUntilIdle(10);
}

// Runs the body in a child process; its exit signal, or 0.
template <typename Body>
int SignalOf(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_CASE("stepping: misuse aborts") {
  if (ERGON_TSAN) return;  // does not allow threads after a fork
  CHECK(SignalOf([] {
          SteppingDispatcher dispatcher(&First, nullptr);
          Endless endless;
          std::thread([&] { dispatcher.Schedule(endless); }).join();
        }) == SIGABRT);
  CHECK(SignalOf([] {
          SteppingDispatcher dispatcher(&First, nullptr);
          Event event;
          dispatcher.Wait(event);
        }) == SIGABRT);
  CHECK(SignalOf([] {
          SteppingDispatcher dispatcher([](std::size_t count) { return count; }, nullptr);
          Endless endless;
          dispatcher.Schedule(endless);
          dispatcher.RunOne();
        }) == SIGABRT);
  CHECK(SignalOf([] {
          SteppingDispatcher dispatcher(&First, nullptr);
          Turn turn([&] {
            dispatcher.RunOne();
            return TurnEnd::kCompleted;
          });
          dispatcher.Schedule(turn);
          dispatcher.RunOne();
        }) == SIGABRT);
  CHECK(SignalOf([] { (void)Worker::Park([](void*, Fiber&, Fiber&) {}, nullptr); }) == SIGABRT);
}

}  // namespace
}  // namespace ergon::core::stepping_test
