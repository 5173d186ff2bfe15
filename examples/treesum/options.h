// The command line.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hash_pool.h"
#include "sha256_format.h"

namespace treesum {

struct Observe {
  std::string address = "127.0.0.1";
  int port = 0;  // 0: any that is free
};

struct Options {
  std::vector<std::string> arguments;  // directories and files; at least one
  int workers = 1;
  int mailbox = 1;
  std::vector<ScaleStep> scale;
  bool progress = true;
  bool stats = false;
  // Where the node can be observed over HTTP; none: nowhere.
  std::optional<Observe> observe;
  LineEnd line_end = LineEnd::kNewline;
};

// The options, or the exit status when there is nothing to do: the help has been printed (0), or
// what is wrong with the command line (2).
[[nodiscard]] std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace treesum
