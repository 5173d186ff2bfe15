// The command line.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <ergon/gen/node_options.h>

namespace thumbnails {

struct Options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;            // 0: one that is free
  int pool = 0;                      // workers
  int queue = 16;                    // requests that may wait at each
  int size = 128;                    // of a thumbnail's longest side, in pixels
  std::uint64_t max_body = 1 << 24;  // bytes of a request
  std::uint64_t connections = 128;   // at the same time; each may hold twice max_body
  ergon::gen::NodeOptions node;
};

// The options, or the exit status when there is nothing to do: the help has been printed (0), or
// what is wrong with the command line (2).
[[nodiscard]] std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace thumbnails
