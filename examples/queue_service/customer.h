// Somebody who uses the queue as fast as it can, and remembers what it got.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <ergon/act/actor.h>

#include "messages.h"

namespace queue_service {

struct Operation {
  bool is_put = false;
  Done done;
};
using History = std::vector<Operation>;

// A request to a customer, answered when all is done, or `stop` is set.
struct Work {
  using Reply = History;
  ergon::gen::PID queue;
  std::uint64_t operations = 0;
  std::uint64_t seed = 0;
  Item first_item = 0;  // its items are this one and those that follow
  const std::atomic<int>* stop = nullptr;
};

class Customer : public ergon::act::Actor {
 private:
  ergon::gen::CallResult HandleCall(ergon::gen::PID from, ergon::gen::Ref ref,
                                    ergon::gen::Message& request) override;
};

}  // namespace queue_service
