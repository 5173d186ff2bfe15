// How many answers an observer has given.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace ergon::node {

// Counts the answers so far, by status. Any thread.
class AnswerCounts {
 public:
  static constexpr unsigned kStatuses = 600;

  void Add(unsigned status) noexcept {
    if (status < kStatuses) counts_[status].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t Of(unsigned status) const noexcept {
    return counts_[status].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kStatuses> counts_{};
};

}  // namespace ergon::node
