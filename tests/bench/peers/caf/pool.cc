// Messages to workers: each sender sends to each worker in turn, or all send to a caf::actor_pool, which does that.
#include <algorithm>

#include <bench/job.h>
#include <bench/peers/caf/workload.h>

namespace ergon::bench::on_caf {
namespace {

using SharedJob = Job<Finish>;

class JobWorker final : public caf::event_based_actor {
 public:
  JobWorker(caf::actor_config& config, SharedJob* job)
      : caf::event_based_actor(config), share_(job) {}

 private:
  caf::behavior make_behavior() override {
    return {[this](std::int64_t number) { share_.Handle(number); }};
  }

  JobShare<Finish> share_;
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
  const std::int64_t ops = JobMessages(params, total);
  SharedJob job{.left = ops, .iterations = iterations, .finish = Finish(1)};
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
  const std::int64_t iterations = JobIterations(params);
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
