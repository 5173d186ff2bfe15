// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ergon/gen/node_options.h>

#include "record.h"

namespace logpipe {

struct Options {
  std::vector<std::string> files;     // "-": standard input
  std::optional<std::uint16_t> udp;   // 0: a port that is free
  std::string address = "127.0.0.1";  // where datagrams come to
  std::string output = "-";           // "-": standard output
  int minimum = kSeverities - 1;      // the least severity that is written
  int parsers = 0;
  int queue = 1'000;  // lines that may wait at each parser, and records at the writer
  ergon::gen::NodeOptions node;
};

// The options, or the exit status when there is nothing to do: the help has been printed (0), or
// what is wrong with the command line (2).
[[nodiscard]] std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace logpipe
