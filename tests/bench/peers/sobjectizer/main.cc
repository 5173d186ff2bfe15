// ergon-bench-sobjectizer: the workloads of ergon-bench on SObjectizer, but for calls: it has none that block no
// thread.
#include <vector>

#include <fmt/format.h>

#include <bench/peers/sobjectizer/workload.h>
#include <bench/program.h>

namespace ergon::bench::on_sobjectizer {
namespace {

const std::vector<Workload>& AllWorkloads() {
  static const std::vector<Workload> kAll = {
      PingPong(),  PingPongPairs(), Stream(), StreamPairs(), FanIn(),   Ring(),
      SpawnIdle(), Churn(),         Skynet(), Pool(),        PoolWork()};
  return kAll;
}

Measurement RunOnSystem(std::size_t index, const Params& params) {
  namespace thread_pool = so_5::disp::thread_pool;
  so_5::wrapped_env_t environment;
  thread_pool::disp_params_t settings;
  settings.thread_count(static_cast<std::size_t>(params["workers"]));
  settings.tune_queue_params([&](thread_pool::queue_traits::queue_params_t& queue) {
    queue.next_thread_wakeup_threshold(static_cast<std::size_t>(params["wakeup"]));
    if (params["lock"] != 0) {
      queue.lock_factory(thread_pool::queue_traits::simple_lock_factory());
    }
  });
  thread_pool::bind_params_t binding;
  binding.max_demands_at_once(static_cast<std::size_t>(params["demands"]));
  binding.fifo(thread_pool::fifo_t::individual);
  const auto threads = thread_pool::make_dispatcher(environment.environment(), "bench", settings);
  const System system{environment.environment(), threads.binder(binding)};
  return RunOften(params, [&] { return AllWorkloads()[index].run(system, params); });
}

Program ErgonBenchSObjectizer() {
  Program program{
      .name = "ergon-bench-sobjectizer",
      .peer = "sobjectizer",
      .version = fmt::format("5.{}.{}", SO_5_VERSION_MAJOR, SO_5_VERSION_MINOR),
      .runs_on = "an environment of its own",
      .common =
          {{"lock", 0, 0, 1, "of the queue of agents: combined or simple", {"combined", "simple"}},
           {"demands", 64, 1, 1'000'000, "max_demands_at_once"},
           {"wakeup", 1, 0, 1'000, "next_thread_wakeup_threshold"}},
      .workloads = OffersOf(AllWorkloads()),
      .run = RunOnSystem};
  return program;
}

}  // namespace
}  // namespace ergon::bench::on_sobjectizer

int main(int count, char** words) {
  return ergon::bench::Run(ergon::bench::on_sobjectizer::ErgonBenchSObjectizer(), count, words);
}
