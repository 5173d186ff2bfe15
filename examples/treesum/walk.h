// Finding the files, in order.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "problem.h"

namespace treesum {

// Gets what a walk finds, in order. Each function may wait; false ends the walk.
class WalkVisitor {
 public:
  virtual ~WalkVisitor() = default;
  virtual bool OnFile(std::string_view path, std::uint64_t size) = 0;
  virtual bool OnProblem(Problem problem) = 0;
  // A symbolic link that leads somewhere; walks do not follow links below their arguments.
  virtual bool OnLink(std::string_view path) = 0;
};

struct WalkOptions {
  bool report_newlines = true;  // listed names with a newline are problems, too
  std::stop_token stop = {};    // for a quick end in the middle of a huge directory
};

// Visits every regular file that the arguments name or contain, exactly those that
//     find ARGUMENT... -type f | LC_ALL=C sort
// prints, spelled and ordered alike, but each once: what several arguments lead to is visited where
// the walk comes by first, and a problem where it comes by again. (Arguments that are symbolic
// links are followed.) Holds the names of the directories between an argument and the current file,
// nothing else.
void Walk(const std::vector<std::string>& arguments, const WalkOptions& options,
          WalkVisitor& visitor);

}  // namespace treesum
