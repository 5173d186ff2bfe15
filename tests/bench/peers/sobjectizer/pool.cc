// SObjectizer has no pool of agents behind one address: each sender sends to each worker in turn.
#include <algorithm>
#include <atomic>

#include <bench/peers/sobjectizer/workload.h>

namespace ergon::bench::on_sobjectizer {
namespace {

// What a run's workers share.
struct Job {
  std::atomic<std::int64_t> left;
  std::int64_t iterations;  // of Work, for each message
  Finish finish;
};

class JobWorker final : public so_5::agent_t {
 public:
  JobWorker(context_t context, Job* job) : so_5::agent_t(std::move(context)), job_(job) {}

 private:
  // Counts in batches: a shared counter for each message would be what is measured.
  static constexpr std::int64_t kBatch = 64;

  void so_define_agent() override {
    so_subscribe_self().event([this](so_5::mhood_t<Number> number) {
      if (job_->iterations != 0) {
        (void)Work(static_cast<std::uint64_t>(number->value), job_->iterations);
      }
      if (++handled_ == kBatch) {
        handled_ = 0;
        if (job_->left.fetch_sub(kBatch, std::memory_order_acq_rel) == kBatch) job_->finish.Part();
      }
    });
  }

  Job* job_;
  std::int64_t handled_ = 0;
};

Measurement RunJobs(const System& system, const Params& params, std::int64_t total,
                    std::int64_t iterations) {
  const std::int64_t producers = params["producers"];
  const std::int64_t workers = params["pool_workers"];
  // Every worker's share is a whole number of batches.
  const std::int64_t step = producers * workers * 64;
  const std::int64_t ops = (total + step - 1) / step * step;
  Job job{.left = ops, .iterations = iterations, .finish = Finish(1)};
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
  const double microseconds = static_cast<double>(params["us"]);
  const auto iterations = static_cast<std::int64_t>(microseconds * IterationsPerMicrosecond());
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
