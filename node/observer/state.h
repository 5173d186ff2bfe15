// What the processes of one observer share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ergon/gen/pid.h>
#include <ergon/node/observer/connections.h>
#include <ergon/node/observer/gate.h>
#include <ergon/node/observer/settings.h>

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

struct ObserverState {
  explicit ObserverState(ObserverSettings checked)
      : settings(std::move(checked)),
        gate(settings),
        connections(static_cast<std::size_t>(settings.options.max_connections)) {}

  const ObserverSettings settings;
  const Gate gate;
  Connections connections;
  AnswerCounts answers;
  std::atomic<std::uint64_t> displaced{0};  // connections that gave way to new ones
  // Set before the listener begins.
  int port = 0;
  gen::PID collector;
};

}  // namespace ergon::node
