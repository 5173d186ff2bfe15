// The end of a run, in the programs of the peers written in C++.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>

#include <bench/machine.h>

namespace ergon::bench {

// Counts the parts of a run that have come to their end; the clock stops in the handler that is the last.
class Finish {
 public:
  explicit Finish(std::int64_t parts) : left_(parts) {}

  // Any thread.
  void Part() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) at_.set_value(Now());
  }
  // The time of the last part.
  std::int64_t Wait() { return at_.get_future().get(); }

 private:
  std::atomic<std::int64_t> left_;
  std::promise<std::int64_t> at_;
};

}  // namespace ergon::bench
