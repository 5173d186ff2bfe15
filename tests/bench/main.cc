// ergon-bench: one workload, one line of JSON.
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
  auto node = node::Start("bench@localhost", options);
  Must(node);
  Measurement measurement =
      RunOften(params, [&] { return AllWorkloads()[index].run(*node, params); });
  node->Stop();
  return measurement;
}

Program ErgonBench() {
  Program program{.name = "ergon-bench",
                  .peer = "ergon",
                  .version = "",
                  .runs_on = "a node of its own",
                  .common = {{"policy", 0, 0, 1, "stealing or sharing", {"stealing", "sharing"}}},
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
