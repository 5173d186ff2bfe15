// ergon-bench: one workload, one line of JSON.
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <bench/program.h>
#include <bench/workload.h>
#include <ergon/node/node.h>

namespace ergon::bench {

const std::vector<Workload>& AllWorkloads() {
  static const std::vector<Workload> kAll = {
      PingPong(), PingPongPairs(),    Stream(), StreamPairs(), FanIn(), Ring(),     SpawnIdle(),
      Churn(),    Skynet(),           Call(),   CallMany(),    Pool(),  PoolWork(), Urgent(),
      Timer(),    LatencyUnderLoad(), Inspect()};
  return kAll;
}

namespace {

Measurement RunOnNode(std::size_t index, const Params& params) {
  gen::NodeOptions options;
  options.workers = static_cast<int>(params["workers"]);
  options.policy = params["policy"] != 0 ? gen::DispatcherPolicy::kWorkSharing
                                         : gen::DispatcherPolicy::kWorkStealing;
  options.throughput = static_cast<int>(params["throughput"]);
  options.turn_time = std::chrono::microseconds(params["turn_time_us"]);
  options.turn_limit = std::chrono::microseconds(params["turn_limit_us"]);
  auto node = node::Start("bench@localhost", options);
  Must(node);
  Measurement measurement =
      RunOften(params, [&] { return AllWorkloads()[index].run(*node, params); });
  node->Stop();
  return measurement;
}

std::int64_t Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

Program ErgonBench() {
  const gen::NodeOptions defaults;
  constexpr std::int64_t kSecond = 1'000'000;
  Program program{.name = "ergon-bench",
                  .peer = "ergon",
                  .version = "",
                  .runs_on = "a node of its own",
                  .common = {{"policy", 0, 0, 1, "stealing or sharing", {"stealing", "sharing"}},
                             {"throughput", defaults.throughput, 1, 4096, "messages of a turn"},
                             {"turn_time_us", Microseconds(defaults.turn_time), 0, kSecond,
                              "quick handlers go on beyond throughput for so long"},
                             {"turn_limit_us", Microseconds(defaults.turn_limit), 0, kSecond,
                              "slow handlers end a turn after so long; 0: never"}},
                  .workloads = {},
                  .run = RunOnNode};
  for (const Workload& workload : AllWorkloads()) {
    program.workloads.push_back({workload.name, workload.measures, workload.params});
  }
  return program;
}

}  // namespace
}  // namespace ergon::bench

int main(int count, char** words) {
  return ergon::bench::Run(ergon::bench::ErgonBench(), count, words);
}
