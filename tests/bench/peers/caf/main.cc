// ergon-bench-caf: the workloads of ergon-bench on the C++ Actor Framework (CAF).
#include <vector>

#include <fmt/format.h>

#include <bench/peers/caf/workload.h>
#include <bench/program.h>

namespace ergon::bench::on_caf {
namespace {

const std::vector<Workload>& AllWorkloads() {
  static const std::vector<Workload> kAll = {
      PingPong(), PingPongPairs(), Stream(), StreamPairs(), FanIn(), Ring(),    SpawnIdle(),
      Churn(),    Skynet(),        Call(),   CallMany(),    Pool(),  PoolWork()};
  return kAll;
}

Measurement RunOnSystem(std::size_t index, const Params& params) {
  caf::actor_system_config config;
  const auto set = [&](const std::string& name, auto value) {
    config.set(kSettings + name, value);
  };
  set("scheduler.max-threads", static_cast<std::size_t>(params["workers"]));
  set("scheduler.policy", Policy(params["policy"] != 0));
  if (params["throughput"] != 0) {
    set("scheduler.max-throughput", static_cast<std::size_t>(params["throughput"]));
  }
  set("work-stealing.aggressive-poll-attempts", static_cast<std::size_t>(params["polls"]));
  // Otherwise up to 10 ms before a worker that has had nothing to do sees the first message.
  set("work-stealing.relaxed-sleep-duration", caf::timespan(50'000));
  caf::actor_system system(config);
  return RunOften(params, [&] { return AllWorkloads()[index].run(system, params); });
}

Program ErgonBenchCaf() {
  Program program{
      .name = "ergon-bench-caf",
      .peer = "caf",
      .version = fmt::format("{}.{}.{}", CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION),
      .runs_on = "an actor system of its own",
      .common = {{"policy", 0, 0, 1, "stealing or sharing", {"stealing", "sharing"}},
                 {"polls", 100, 1, 1'000'000'000, "work-stealing.aggressive-poll-attempts"},
                 {"throughput", 0, 0, 1'000'000'000, "scheduler.max-throughput; 0: no limit"}},
      .workloads = OffersOf(AllWorkloads()),
      .run = RunOnSystem};
  return program;
}

}  // namespace
}  // namespace ergon::bench::on_caf

int main(int count, char** words) {
  ergon::bench::on_caf::Start();
  return ergon::bench::Run(ergon::bench::on_caf::ErgonBenchCaf(), count, words);
}
