// The messages between the walk (main's thread), the pool, its workers and the printer:
//
//     walk --HashBatch--> pool (a worker) --BatchDone, BytesRead--> printer --> standard output
//      ^                                                              |
//      +-------- WaitUntil, answered with Totals: flow control -------+
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "file_batch.h"
#include "problem.h"

namespace treesum {

// To the pool: sum these files up. Numbered from 0 in the order of the walk.
struct HashBatch {
  std::uint64_t number = 0;
  std::shared_ptr<const FileBatch> files;
};

// To the pool, with high priority: have this many workers from now on.
struct ScaleTo {
  int workers = 0;
};

// To the printer, once for each batch, in any order.
struct BatchDone {
  std::uint64_t number = 0;
  std::string lines;             // for standard output
  std::uint64_t files = 0;       // how many lines
  std::uint64_t bytes_read = 0;  // since the last BytesRead
  std::uint64_t weight = 0;      // the batch's
  std::vector<Problem> problems;
  bool complete = true;  // false: the worker was told to stop before all files were done
};

// To the printer: progress within a big file.
struct BytesRead {
  std::uint64_t bytes = 0;
};

// To the printer: a line for standard error.
struct Notice {
  std::string text;
};

// To the printer: what lies ahead, as far as it has been counted.
struct Surveyed {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// A request to the printer. Answered with Totals as soon as so many batches are done and so much
// weight has been printed, or when nothing more is going to be printed.
struct WaitUntil {
  std::uint64_t batches_done = 0;
  std::uint64_t weight_printed = 0;
};
struct Totals {
  std::uint64_t batches_done = 0;
  std::uint64_t weight_printed = 0;
};

// A request to the printer, the last one: finish the output. Answered with a Summary.
struct Finish {};
struct Summary {
  std::uint64_t files = 0;       // lines printed
  std::uint64_t bytes_read = 0;  // also of files that were not finished
  ProblemCounts problems = {};
  std::string output_error = {};  // why standard output could not be written; empty: it could
};

}  // namespace treesum
