// Pools and the threads that run them.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <ergon/core/foundations/sanitizers.h>
#include <ergon/gen/blocking.h>

#include <kit/node_fixture.h>

namespace ergon {
namespace {

using namespace std::chrono_literals;
using kit::Answer;
using kit::Ask;
using kit::Eventually;
using kit::Hold;
using kit::Job;

TEST_CASE("A pool of 64 on 2 threads: all workers progress, also when each waits in a call") {
  kit::NodeFixture fixture({.workers = 2});
  constexpr int kWorkers = 64;
  auto pool = fixture.StartPool(kWorkers);
  const auto workers = pool.Workers();
  for (int i = 0; i < 10 * kWorkers; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(10 * kWorkers));
  for (gen::PID worker : workers) CHECK(fixture.workers->jobs.ValuesOf(worker).size() == 10);

  // All are in the middle of a handler at the same time.
  kit::Gate gate(fixture.node);
  for (int i = 0; i < kWorkers; ++i) {
    fixture.node.Send(pool.pid(), Job{1000 + i, Hold(gate)}).value();
  }
  REQUIRE(Eventually([&] { return gate.Entered() == kWorkers; }));
  CHECK(pool.Stats()["workers_busy"] == kWorkers);
  CHECK(pool.Size() == kWorkers);
  gate.Open();
  CHECK(pool.EventuallyHandled(11 * kWorkers));
}

TEST_CASE("Workers that are always ready share two threads: none is left behind") {
  kit::NodeFixture fixture({.workers = 2});
  constexpr int kWorkers = 64;
  auto pool = fixture.StartPool(kWorkers);
  // Each keeps itself busy for ever.
  static std::atomic<bool> stop;
  stop = false;
  struct Again {
    static gen::Status Run(kit::Worker& worker) {
      if (!stop) worker.Send(worker.Self(), Job{1, &Run}).value();
      return gen::Continue();
    }
  };
  for (int i = 0; i < kWorkers; ++i) fixture.node.Send(pool.pid(), Job{1, &Again::Run}).value();
  const auto workers = pool.Workers();
  CHECK(Eventually([&] {
    for (gen::PID worker : workers) {
      if (fixture.node.ProcessInfo(worker).value().messages_handled < 100) return false;
    }
    return true;
  }));
  // Somebody new gets a turn, too.
  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{5}, {.timeout = kit::kDeadline}).value().value ==
        5);
  stop = true;
  CHECK(pool.EventuallyHandled(kWorkers + 1));
}

TEST_CASE("One worker blocks its thread: the messages of the others go on, and it is named") {
  kit::NodeFixture fixture({.workers = 2, .watchdog_after = 20ms});
  auto pool = fixture.StartPool(4);
  const auto workers = pool.Workers();
  kit::ThreadGate gate;
  fixture.node.Send(pool.pid(), Job{0, Block(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 1; }));
  for (int i = 1; i < 400; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(Eventually([&] { return fixture.workers->done.size() == 300; }));
  for (int w = 1; w < 4; ++w) CHECK(fixture.workers->jobs.ValuesOf(workers[w]).size() == 100);
  CHECK(fixture.workers->jobs.ValuesOf(workers[0]).size() == 1);
  const auto stats = pool.Stats();
  CHECK(stats["workers_busy"] == 1);
  CHECK(stats["messages_queued"] == 99);
  // For a moment there may be others: those that the machine has kept waiting in the middle of a turn.
  std::vector<gen::BusyProcess> busy;
  REQUIRE(Eventually([&] {
    busy = fixture.node.Info().busy;
    return busy.size() == 1 && busy[0].pid == workers[0];
  }));
  CHECK(busy[0].behavior.find("Worker") != std::string::npos);
  CHECK(busy[0].message.find("Job") != std::string::npos);
  CHECK(busy[0].running_for >= 20ms);
  CHECK(Eventually([&] { return fixture.log.Contains("without suspending itself"); }));
  gate.Open();
  CHECK(pool.EventuallyHandled(400));
}

TEST_CASE("All workers block and say so: the node's threads are free") {
  kit::NodeFixture fixture({.workers = 2});
  auto pool = fixture.StartPool(8);
  kit::ThreadGate gate;
  for (int i = 0; i < 8; ++i) {
    const Job job{i, [enter = gate.Holder()](kit::Worker&) {
                    const gen::Blocking blocking;
                    enter();
                    return gen::Continue();
                  }};
    fixture.node.Send(pool.pid(), job).value();
  }
  REQUIRE(Eventually([&] { return gate.Entered() == 8; }));
  auto other = fixture.StartPool(2);
  CHECK(fixture.node.Call<Answer>(other.pid(), Ask{1}, {.timeout = kit::kDeadline}).value().value ==
        1);
  CHECK(pool.Stats()["workers_busy"] == 8);
  gate.Open();
  CHECK(pool.EventuallyHandled(8));
}

TEST_CASE("Detached workers may all block their threads: the node's own are free") {
  kit::NodeFixture fixture({.workers = 2});
  auto options = fixture.Options(8);
  options.worker_detached = true;
  auto pool = fixture.StartPool(options);
  kit::ThreadGate gate;
  for (int i = 0; i < 8; ++i) fixture.node.Send(pool.pid(), Job{i, Block(gate)}).value();
  REQUIRE(Eventually([&] { return gate.Entered() == 8; }));
  auto other = fixture.StartPool(2);
  CHECK(fixture.node.Call<Answer>(other.pid(), Ask{1}, {.timeout = kit::kDeadline}).value().value ==
        1);
  CHECK(pool.Stats()["workers_busy"] == 8);
  gate.Open();
  CHECK(pool.EventuallyHandled(8));
}

// All threads of this program but the calling one. One that sleeps, and did so when it had made as many voluntary
// switches, has not run meanwhile.
struct OtherThreads {
  std::uint64_t voluntary_switches = 0;
  bool all_sleep = true;
};
OtherThreads LookAtOtherThreads() {
  OtherThreads found;
#if ERGON_TSAN  // has a thread of its own
  return found;
#endif
  const std::string self = std::to_string(syscall(SYS_gettid));
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::ifstream status(task.path() / "status");
    std::string line;
    while (std::getline(status, line)) {
      const std::string key = "voluntary_ctxt_switches:";
      if (line.starts_with(key)) found.voluntary_switches += std::stoull(line.substr(key.size()));
      if (line.starts_with("State:")) found.all_sleep &= line.starts_with("State:\tS");
    }
  }
  return found;
}

TEST_CASE("An idle pool of 1,000 workers: no wake-ups, and no thread runs") {
  kit::NodeFixture fixture;
  auto pool = fixture.StartPool(1000);
  for (int i = 0; i < 2000; ++i) fixture.node.Send(pool.pid(), Job{i}).value();
  REQUIRE(pool.EventuallyHandled(2000));
  // The threads find nothing more and go to sleep; the watchdog is the last, after an eighth of its
  // second. This is the one observation of this suite that takes its time.
  int quiet = 0;  // in a row
  CHECK(Eventually([&] {
    const std::uint64_t wakeups = fixture.node.Info().wakeups;
    const OtherThreads before = LookAtOtherThreads();
    std::this_thread::sleep_for(500ms);
    const OtherThreads after = LookAtOtherThreads();
    const bool is_quiet = before.all_sleep && after.all_sleep &&
                          after.voluntary_switches == before.voluntary_switches &&
                          fixture.node.Info().wakeups == wakeups;
    quiet = is_quiet ? quiet + 1 : 0;
    return quiet == 3;
  }));

  CHECK(fixture.node.Call<Answer>(pool.pid(), Ask{1}, {.timeout = kit::kDeadline}).value().value ==
        1);
}

}  // namespace
}  // namespace ergon
