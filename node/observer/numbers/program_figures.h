// The numbers that the operating system has of the program.
#pragma once

#include <cstdint>

namespace ergon::node {

struct ProgramFigures {
  double processor_seconds = 0;  // of all its threads
  double started_at = 0;         // seconds since the year 1970; 0: not known
  std::int64_t resident_bytes = 0;
  std::int64_t virtual_bytes = 0;
  std::int64_t threads = 0;
  std::int64_t open_descriptors = 0;
  std::int64_t most_descriptors = 0;
};

// Reads /proc. A number that is not there is 0. Any thread.
[[nodiscard]] ProgramFigures ReadProgramFigures();

}  // namespace ergon::node
