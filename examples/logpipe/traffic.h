// How many lines have come how far, counted by the processes and read by main.
#pragma once

#include <atomic>
#include <cstdint>

namespace logpipe {

struct Traffic {
  std::atomic<std::uint64_t> read{0};       // lines of files and datagrams, of which are
  std::atomic<std::uint64_t> written{0};    //   in the output
  std::atomic<std::uint64_t> left_out{0};   //   less severe than --minimum
  std::atomic<std::uint64_t> malformed{0};  //   of another shape
  std::atomic<int> failed{0};               // sources, and the output
};

}  // namespace logpipe
