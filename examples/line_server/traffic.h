// What the server has done, counted by its processes and read by main.
#pragma once

#include <atomic>
#include <cstdint>

namespace line_server {

struct Traffic {
  std::atomic<std::uint16_t> port{0};      // it listens at
  std::atomic<std::uint64_t> accepted{0};  // connections
  std::atomic<std::uint64_t> refused{0};   // because there were too many
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> lines{0};  // answered
};

}  // namespace line_server
