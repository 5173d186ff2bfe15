// Messages to workers: each sender sends to each worker in turn, or all send to a caf::actor_pool, which does that.
#include <algorithm>
#include <atomic>

#include <bench/peers/caf/workload.h>

namespace ergon::bench::on_caf {
namespace {

// What a run's workers share.
struct Job {
  std::atomic<std::int64_t> left;
  std::int64_t iterations;  // of Work, for each message
  Finish finish;
};

class JobWorker final : public caf::event_based_actor {
 public:
  JobWorker(caf::actor_config& config, Job* job) : caf::event_based_actor(config), job_(job) {}

 private:
  // Counts in batches: a shared counter for each message would be what is measured.
  static constexpr std::int64_t kBatch = 64;

  caf::behavior make_behavior() override {
    return {[this](std::int64_t number) {
      if (job_->iterations != 0) (void)Work(static_cast<std::uint64_t>(number), job_->iterations);
      if (++handled_ == kBatch) {
        handled_ = 0;
        if (job_->left.fetch_sub(kBatch, std::memory_order_acq_rel) == kBatch) job_->finish.Part();
      }
    }};
  }

  Job* job_;
  std::int64_t handled_ = 0;
};

// Sends numbers to the workers, to each in turn, all from one handler.
class RotatingProducer final : public caf::event_based_actor {
 public:
  RotatingProducer(caf::actor_config& config, std::vector<caf::actor> workers)
      : caf::event_based_actor(config), workers_(std::move(workers)) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](Begin, std::int64_t count) {
      std::size_t turn = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        Tell(*this, workers_[turn], i);
        if (++turn == workers_.size()) turn = 0;
      }
    }};
  }

  const std::vector<caf::actor> workers_;
};

Measurement RunJobs(caf::actor_system& system, const Params& params, std::int64_t total,
                    std::int64_t iterations) {
  const std::int64_t producers = params["producers"];
  const std::int64_t workers = params["pool_workers"];
  // Every worker's share is a whole number of batches.
  const std::int64_t step = producers * workers * 64;
  const std::int64_t ops = (total + step - 1) / step * step;
  Job job{.left = ops, .iterations = iterations, .finish = Finish(1)};
  Cast cast(system);
  const bool by_pool = params["by"] != 0;
  std::vector<caf::actor> team;
  const auto spawn_worker = [&]() -> caf::actor { return system.spawn<JobWorker>(&job); };
  if (by_pool) {
    team.push_back(cast.Add(MakePool(system, static_cast<std::size_t>(workers), spawn_worker)));
  } else {
    for (std::int64_t i = 0; i < workers; ++i) team.push_back(cast.Add(spawn_worker()));
  }
  std::vector<caf::actor> senders;
  for (std::int64_t i = 0; i < producers; ++i) {
    senders.push_back(cast.Spawn<RotatingProducer>(team));
    std::rotate(team.begin(), team.begin() + 1, team.end());  // each begins with another worker
  }
  const std::int64_t start = Now();
  for (const caf::actor& sender : senders) TellToBegin(sender, ops / producers);
  return {ops, job.finish.Wait() - start};
}

Measurement RunWork(caf::actor_system& system, const Params& params) {
  const double microseconds = static_cast<double>(params["us"]);
  const auto iterations = static_cast<std::int64_t>(microseconds * IterationsPerMicrosecond());
  return RunJobs(system, params, params["n"], iterations);
}

const Param kBy{"by", 0, 0, 1, "each sender in turn, or an actor_pool", {"senders", "actor_pool"}};

}  // namespace

Workload Pool() {
  return {"pool",
          "messages to workers, trivial work",
          {{"producers", 4, 1, 10'000},
           {"pool_workers", 4, 1, 10'000},
           {"n", 500'000, 1, 1'000'000'000, "messages of each producer"},
           kBy},
          [](caf::actor_system& system, const Params& params) {
            return RunJobs(system, params, params["n"] * params["producers"], 0);
          }};
}

Workload PoolWork() {
  return {"pool_work",
          "the same with calibrated work",
          {{"producers", 4, 1, 10'000},
           {"pool_workers", 4, 1, 10'000},
           {"n", 200'000, 1, 1'000'000'000, "messages in all"},
           {"us", 5, 1, 1'000'000, "microseconds of work"},
           kBy},
          RunWork};
}

}  // namespace ergon::bench::on_caf
