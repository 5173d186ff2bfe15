// ergon-bench: one workload, one line of JSON.
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <bench/program.h>
#include <bench/workload.h>
#include <ergon/core/work_sharing.h>
#include <ergon/core/work_stealing.h>
#include <ergon/node/node.h>
#include <ergon/node/observer.h>

namespace ergon::bench {

const std::vector<Workload>& AllWorkloads() {
  static const std::vector<Workload> kAll = {
      PingPong(), PingPongPairs(),    Stream(), StreamPairs(), FanIn(), Ring(),     SpawnIdle(),
      Churn(),    Skynet(),           Call(),   CallMany(),    Pool(),  PoolWork(), Urgent(),
      Timer(),    LatencyUnderLoad(), Inspect()};
  return kAll;
}

namespace {

constexpr int kMostReaders = 1000;

// An observer on the port that the parameters give, if they do, and so many connections.
void Observe(gen::Node& node, const Params& params) {
  const std::int64_t readers = params["readers"];
  if (params["observe"] == 0) {
    if (readers != 0) throw std::runtime_error("readers: needs the port of an observer, observe=");
    return;
  }
  const auto observer = node.Spawn(node::ObserverFactory(
      {.port = static_cast<int>(params["observe"]), .max_connections = kMostReaders}));
  Must(observer);
  const auto connections = [&] {
    const auto items = node.Inspect(*observer, {"connections"});
    Must(items);
    return std::stoll(items->at("connections"));
  };
  while (connections() < readers) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// A node has two workers at least: one alone has to be brought, as a dispatcher of one's own.
std::shared_ptr<core::Dispatcher> OneWorker(const gen::NodeOptions& options) {
  const core::DispatcherOptions one{.workers = 1,
                                    .throughput = options.throughput,
                                    .turn_ns = options.turn_time.count(),
                                    .turn_limit_ns = options.turn_limit.count()};
  return options.policy == gen::DispatcherPolicy::kWorkSharing ? core::MakeWorkSharing(one)
                                                               : core::MakeWorkStealing(one);
}

Measurement RunOnNode(std::size_t index, const Params& params) {
  gen::NodeOptions options;
  options.policy = params["policy"] != 0 ? gen::DispatcherPolicy::kWorkSharing
                                         : gen::DispatcherPolicy::kWorkStealing;
  options.throughput = static_cast<int>(params["throughput"]);
  options.turn_time = std::chrono::microseconds(params["turn_time_us"]);
  options.turn_limit = std::chrono::microseconds(params["turn_limit_us"]);
  if (params["workers"] == 1) {
    options.dispatcher = OneWorker(options);
  } else {
    options.workers = static_cast<int>(params["workers"]);
  }
  auto node = node::Start("bench@localhost", options);
  Must(node);
  Observe(*node, params);
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
                              "slow handlers end a turn after so long; 0: never"},
                             {"observe", 0, 0, 65535, "port of an observer; 0: there is none"},
                             {"readers", 0, 0, kMostReaders,
                              "connections with it that there have to be before it begins"}},
                  .workloads = OffersOf(AllWorkloads()),
                  .run = RunOnNode};
  return program;
}

}  // namespace
}  // namespace ergon::bench

int main(int count, char** words) {
  return ergon::bench::Run(ergon::bench::ErgonBench(), count, words);
}
