// SObjectizer has no pool of agents behind one address: each sender sends to each worker in turn.
#include <algorithm>

#include <bench/job.h>
#include <bench/peers/sobjectizer/workload.h>

namespace ergon::bench::on_sobjectizer {
namespace {

using SharedJob = Job<Finish>;

class JobWorker final : public so_5::agent_t {
 public:
  JobWorker(context_t context, SharedJob* job) : so_5::agent_t(std::move(context)), share_(job) {}

 private:
  void so_define_agent() override {
    so_subscribe_self().event(
        [this](so_5::mhood_t<Number> number) { share_.Handle(number->value); });
  }

  JobShare<Finish> share_;
};

Measurement RunJobs(const System& system, const Params& params, std::int64_t total,
                    std::int64_t iterations) {
  const std::int64_t producers = params["producers"];
  const std::int64_t workers = params["pool_workers"];
  const std::int64_t ops = JobMessages(params, total);
  SharedJob job{.left = ops, .iterations = iterations, .finish = Finish(1)};
  std::vector<so_5::mbox_t> pool;
  std::vector<so_5::mbox_t> senders;
  const Cast cast(system, [&](so_5::coop_t& coop) {
    for (std::int64_t i = 0; i < workers; ++i) {
      pool.push_back(coop.make_agent<JobWorker>(&job)->so_direct_mbox());
    }
    for (std::int64_t i = 0; i < producers; ++i) {
      senders.push_back(coop.make_agent<Producer>()->so_direct_mbox());
    }
  });
  const std::int64_t start = Now();
  for (const so_5::mbox_t& sender : senders) {
    so_5::send<Begin>(sender, pool, ops / producers);
    std::rotate(pool.begin(), pool.begin() + 1, pool.end());  // each begins with another worker
  }
  return {ops, job.finish.Wait() - start};
}

Measurement RunWork(const System& system, const Params& params) {
  const std::int64_t iterations = JobIterations(params);
  return RunJobs(system, params, params["n"], iterations);
}

}  // namespace

Workload Pool() {
  return {"pool",
          "messages to workers, to each in turn, trivial work",
          {{"producers", 4, 1, 10'000},
           {"pool_workers", 4, 1, 10'000},
           {"n", 500'000, 1, 1'000'000'000, "messages of each producer"}},
          [](const System& system, const Params& params) {
            return RunJobs(system, params, params["n"] * params["producers"], 0);
          }};
}

Workload PoolWork() {
  return {"pool_work",
          "the same with calibrated work",
          {{"producers", 4, 1, 10'000},
           {"pool_workers", 4, 1, 10'000},
           {"n", 200'000, 1, 1'000'000'000, "messages in all"},
           {"us", 5, 1, 1'000'000, "microseconds of work"}},
          RunWork};
}

}  // namespace ergon::bench::on_sobjectizer
