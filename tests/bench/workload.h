// What every workload is made of.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <bench/machine.h>
#include <bench/measurement.h>
#include <bench/offer.h>
#include <bench/params.h>
#include <ergon/core/foundations/sync.h>
#include <ergon/gen/node.h>

namespace ergon::bench {

using Workload = WorkloadOn<gen::Node>;

const std::vector<Workload>& AllWorkloads();

Workload PingPong();
Workload PingPongPairs();
Workload Stream();
Workload StreamPairs();
Workload FanIn();
Workload Ring();
Workload SpawnIdle();
Workload Churn();
Workload Skynet();
Workload Call();
Workload CallMany();
Workload Pool();
Workload PoolWork();
Workload Inspect();
Workload Urgent();
Workload Timer();
Workload LatencyUnderLoad();

// The message of most workloads.
struct Number {
  std::int64_t value = 0;
};
struct Start {
  gen::PID peer = {};
  std::int64_t count = 0;
};

// Counts the parts of a run that have come to their end; the clock stops in the handler that is
// the last.
class Finish {
 public:
  Finish(const gen::Node& node, std::int64_t parts)
      : node_(node), failed_before_(node.Info().processes_failed), left_(parts) {}

  // Any thread.
  void Part() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    at_ = Now();
    done_.Set();
  }
  // The time of the last part. Ends the program if a process has failed, which had a part, maybe: without
  // memory, say, with which the node could not be stopped either.
  std::int64_t Wait() {
    constexpr std::int64_t kPeriod = 250'000'000;  // ns
    while (!done_.WaitFor(kPeriod)) {
      if (node_.Info().processes_failed == failed_before_) continue;
      std::fputs("ergon-bench: a process of the workload has failed\n", stderr);
      std::_Exit(1);
    }
    return at_;
  }

 private:
  const gen::Node& node_;
  const std::uint64_t failed_before_;
  std::atomic<std::int64_t> left_;
  std::int64_t at_ = 0;
  core::Event done_;
};

// The processes of one run; ends them, and returns when they are gone.
class Cast {
 public:
  explicit Cast(gen::Node& node) : node_(node), others_(node.Info().processes) {}
  Cast(const Cast&) = delete;
  Cast& operator=(const Cast&) = delete;
  ~Cast() { End(); }

  gen::PID Spawn(const gen::ProcessFactory& factory, const gen::ProcessOptions& options = {},
                 const gen::Args& args = {}) {
    auto pid = node_.Spawn(factory, options, args);
    if (!pid) throw std::runtime_error("spawn: " + pid.error().ToString());
    pids_.push_back(*pid);
    return *pid;
  }
  void End() {
    for (const gen::PID pid : pids_) (void)node_.Kill(pid);
    for (const gen::PID pid : pids_) (void)node_.WaitProcess(pid);
    // Workers of a pool that was killed end a moment later, as failures: not in the next run's time.
    while (node_.Info().processes > others_) std::this_thread::yield();
    pids_.clear();
  }

 private:
  gen::Node& node_;
  const std::uint64_t others_;  // processes that were there before
  std::vector<gen::PID> pids_;
};

// What must not fail in a benchmark ends it.
template <class Result>
void Must(Result&& result) {
  if (!result) throw std::runtime_error(result.error().ToString());
}

}  // namespace ergon::bench
