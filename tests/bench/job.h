// The work that a run shares out among workers, in the programs of Ergon and of its peers.
#pragma once

#include <atomic>
#include <cstdint>

#include <bench/machine.h>
#include <bench/params.h>

namespace ergon::bench {

// A worker counts so many messages at once: a shared counter for each would be what is measured.
inline constexpr std::int64_t kJobBatch = 64;

// What a run's workers share. `Finish` is what the run waits for.
template <class Finish>
struct Job {
  std::atomic<std::int64_t> left;
  std::int64_t iterations;  // of Work, for each message
  Finish finish;
};

// A worker's share of it.
template <class Finish>
class JobShare {
 public:
  // `job` outlives it.
  explicit JobShare(Job<Finish>* job) : job_(job) {}

  void Handle(std::int64_t number) {
    if (job_->iterations != 0) (void)Work(static_cast<std::uint64_t>(number), job_->iterations);
    if (++handled_ != kJobBatch) return;
    handled_ = 0;
    if (job_->left.fetch_sub(kJobBatch, std::memory_order_acq_rel) == kJobBatch)
      job_->finish.Part();
  }

 private:
  Job<Finish>* job_;
  std::int64_t handled_ = 0;
};

// Returns `total`, or so many more that every worker's share is a whole number of batches.
inline std::int64_t JobMessages(const Params& params, std::int64_t total) {
  const std::int64_t step = params["producers"] * params["pool_workers"] * kJobBatch;
  return (total + step - 1) / step * step;
}

// Returns the iterations of Work that take the parameter us, microseconds.
inline std::int64_t JobIterations(const Params& params) {
  return static_cast<std::int64_t>(static_cast<double>(params["us"]) * IterationsPerMicrosecond());
}

}  // namespace ergon::bench
