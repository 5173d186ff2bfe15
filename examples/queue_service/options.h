// The command line.
#pragma once

#include <cstdint>
#include <variant>

namespace queue_service {

struct Options {
  std::uint64_t operations = 1'000'000;  // of all customers together
  std::uint64_t customers = 8;
  std::uint64_t seed = 1;
};

// The options, or the exit status when there is nothing to do: the help has been printed (0), or
// what is wrong with the command line (2).
[[nodiscard]] std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace queue_service
