// Messages through act::Pool.
#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <bench/job.h>
#include <bench/producer.h>
#include <bench/workload.h>
#include <ergon/act/actor.h>
#include <ergon/act/pool.h>

namespace ergon::bench {
namespace {

using SharedJob = Job<Finish>;

class JobWorker final : public act::Actor {
 public:
  explicit JobWorker(SharedJob* job) : share_(job) {}

 private:
  gen::Status HandleMessage(gen::PID, gen::Message& message) override {
    share_.Handle(message.As<Number>()->value);
    return gen::Continue();
  }

  JobShare<Finish> share_;
};

class JobPool final : public act::Pool {
 public:
  JobPool(SharedJob* job, std::int64_t workers) : job_(job), workers_(static_cast<int>(workers)) {}

 private:
  gen::Result<act::PoolOptions> Init(const gen::Args&) override {
    return act::PoolOptions{.pool_size = workers_, .worker_factory = gen::Factory<JobWorker>(job_)};
  }

  SharedJob* job_;
  int workers_;
};

// Inspects a process `per_second` times a second, as long as it lives.
class Inspector {
 public:
  Inspector(gen::Node& node, gen::PID pid, std::int64_t per_second)
      : thread_([this, &node, pid, per_second](const std::stop_token& stop) {
          const auto pause = std::chrono::nanoseconds(1'000'000'000 / per_second);
          auto next = std::chrono::steady_clock::now();
          while (!stop.stop_requested()) {
            Must(node.Inspect(pid));
            ++done_;
            std::this_thread::sleep_until(next += pause);
          }
        }) {}

  // Ends it; returns how often it has inspected.
  std::int64_t End() {
    thread_ = {};
    return done_;
  }

 private:
  std::int64_t done_ = 0;  // the thread's until it has ended
  std::jthread thread_;
};

// `inspections`, if given: inspects the pool so often in a second, and becomes how often it was.
Measurement Run(gen::Node& node, const Params& params, std::int64_t total, std::int64_t iterations,
                std::int64_t* inspections = nullptr) {
  const std::int64_t producers = params["producers"];
  const std::int64_t workers = params["pool_workers"];
  const std::int64_t ops = JobMessages(params, total);
  SharedJob job{.left = ops, .iterations = iterations, .finish = Finish(node, 1)};
  Cast cast(node);
  const gen::PID pool = cast.Spawn(gen::Factory<JobPool>(&job, workers));
  std::vector<gen::PID> senders;
  for (std::int64_t i = 0; i < producers; ++i) {
    senders.push_back(cast.Spawn(gen::Factory<Producer>(), ProducerOptions(params)));
  }
  std::optional<Inspector> inspector;
  if (inspections != nullptr) inspector.emplace(node, pool, *inspections);
  const std::int64_t start = Now();
  for (const gen::PID sender : senders) Must(node.Send(sender, Start{pool, ops / producers}));
  const Measurement measurement{ops, job.finish.Wait() - start};
  if (inspector) *inspections = inspector->End();
  return measurement;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// With and without, by turns: what else the machine does weighs on both. The ratio is still a noisy figure.
Measurement RunInspect(gen::Node& node, const Params& params) {
  const std::int64_t total = params["n"] * params["producers"];
  Measurement measurement;
  std::vector<double> ratios;
  std::int64_t inspections = 0;
  for (std::int64_t i = 0; i < params["pairs"]; ++i) {
    const Measurement plain = Run(node, params, total, 0);
    std::int64_t done = params["hz"];
    const Measurement inspected = Run(node, params, total, 0, &done);
    ratios.push_back(plain.PerOp() / inspected.PerOp());
    inspections += done;
    measurement.ops += inspected.ops;
    measurement.nanoseconds += inspected.nanoseconds;
  }
  const double seconds = static_cast<double>(measurement.nanoseconds) / 1e9;
  measurement.extra.emplace_back("throughput_ratio", Median(ratios));
  measurement.extra.emplace_back("inspections_per_s", static_cast<double>(inspections) / seconds);
  return measurement;
}

Measurement RunWork(gen::Node& node, const Params& params) {
  const std::int64_t iterations = JobIterations(params);
  Measurement measurement = Run(node, params, params["n"], iterations);
  // The same work without messages, on as many threads as the node has workers for it.
  const std::int64_t threads =
      std::min({params["pool_workers"], static_cast<std::int64_t>(node.Info().workers),
                static_cast<std::int64_t>(std::thread::hardware_concurrency())});
  const std::int64_t loops = std::max<std::int64_t>(1, measurement.ops / threads);
  const std::int64_t start = Now();
  {
    std::vector<std::jthread> pure;
    for (std::int64_t i = 0; i < threads; ++i) {
      pure.emplace_back([=] {
        for (std::int64_t j = 0; j < loops; ++j) {
          (void)Work(static_cast<std::uint64_t>(j), iterations);
        }
      });
    }
  }
  const double ideal = static_cast<double>(Now() - start) / static_cast<double>(loops * threads);
  measurement.extra.emplace_back("pure_ns_per_op", ideal);
  measurement.extra.emplace_back("efficiency", ideal / measurement.PerOp());
  return measurement;
}

}  // namespace

Workload Pool() {
  return {"pool",
          "messages through act::Pool, trivial work",
          {{"producers", 4, 1, 10'000},
           {"pool_workers", 4, 1, 10'000},
           {"n", 500'000, 1, 1'000'000'000, "messages of each producer"},
           kYieldOnSend},
          [](gen::Node& node, const Params& params) {
            return Run(node, params, params["n"] * params["producers"], 0);
          }};
}

Workload Inspect() {
  return {"inspect",
          "the same while the pool is inspected, against without, by turns",
          {{"producers", 4, 1, 10'000},
           {"pool_workers", 4, 1, 10'000},
           {"n", 500'000, 1, 1'000'000'000, "messages of each producer"},
           {"hz", 1000, 1, 100'000, "inspections in a second"},
           {"pairs", 7, 1, 1000},
           kYieldOnSend},
          RunInspect};
}

Workload PoolWork() {
  return {"pool_work",
          "the same with calibrated work; efficiency against the same work in plain threads",
          {{"producers", 4, 1, 10'000},
           {"pool_workers", 4, 1, 10'000},
           {"n", 200'000, 1, 1'000'000'000, "messages in all"},
           {"us", 5, 1, 1'000'000, "microseconds of work"},
           kYieldOnSend},
          RunWork};
}

}  // namespace ergon::bench
