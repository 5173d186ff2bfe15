// The command line.
#pragma once

#include <cstdint>
#include <variant>

namespace ergon::soak {

struct Options {
  std::int64_t seconds = 20;
  std::uint64_t seed = 1;
  int workers = 0;                // 0: as many as there are cores
  std::uint64_t messages = 0;     // 0: as many as there is time for
  std::uint64_t crash_every = 0;  // messages; 0: only now and then
  bool detached = true;           // some processes have threads of their own
  bool progress = true;
};

// The options, or the exit status when there is nothing to do: the help has been printed (0), or
// what is wrong with the command line (2).
[[nodiscard]] std::variant<Options, int> ParseOptions(int count, char** words);

}  // namespace ergon::soak
