// The command line.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace line_server {

struct Options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;              // 0: one that is free
  std::uint64_t connections = 10'000;  // at the same time
  double idle = 60;                    // seconds without a line
};

// The options, or the exit status when there is nothing to do: the help has been printed (0), or
// what is wrong with the command line (2).
[[nodiscard]] std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace line_server
