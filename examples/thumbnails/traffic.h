// What the service has done, counted by its processes and read by main.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace thumbnails {

struct Traffic {
  std::atomic<std::uint16_t> port{0};        // it listens at
  std::atomic<std::uint64_t> open{0};        // connections that are served
  std::atomic<std::uint64_t> refusing{0};    // those that are told that they are too many
  std::atomic<std::uint64_t> requests{0};    // accepted, of which are
  std::atomic<std::uint64_t> thumbnails{0};  //   200
  std::atomic<std::uint64_t> busy{0};        //   503
  std::atomic<std::uint64_t> wrong{0};       //   400 and the like
  std::atomic<std::uint64_t> failed{0};      //   500
  std::atomic<std::uint64_t> answered{0};    // of the requests; the others' clients were gone
};

// Counts one more in `counter`, which is a part of `traffic`, as long as what is returned lives.
using Counted = std::shared_ptr<std::atomic<std::uint64_t>>;
inline Counted Count(std::shared_ptr<Traffic> traffic, std::atomic<std::uint64_t>& counter) {
  ++counter;
  return Counted(&counter, [kept = std::move(traffic)](auto* counted) { --*counted; });
}

}  // namespace thumbnails
