// The same operations once more, on a std::deque.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "customer.h"

namespace queue_service {

struct Verdict {
  std::string problem;  // empty: all results are those of a std::deque
  std::uint64_t operations = 0;
  std::uint64_t put = 0;
  std::uint64_t taken = 0;
  std::uint64_t missed = 0;   // there was nothing to take
  std::uint64_t longest = 0;  // items in the queue
  std::uint64_t left = 0;
};

// Replays what all customers have done in the order in which the serializer let it in.
[[nodiscard]] Verdict Check(const std::vector<History>& histories);

}  // namespace queue_service
