// The pool of workers that sum files up.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include <ergon/gen/factory.h>
#include <ergon/gen/pid.h>

#include "sha256_format.h"

namespace treesum {

// "After this time, have so many workers."
struct ScaleStep {
  int workers = 0;
  std::chrono::nanoseconds after{0};
};

struct HashPoolOptions {
  int workers = 1;
  int mailbox = 1;  // batches that may wait at each worker
  std::vector<ScaleStep> scale;
  LineEnd line_end = LineEnd::kNewline;
  ergon::gen::PID printer;  // gets BatchDone, BytesRead and Notice
  std::stop_token stop;     // from then on workers leave everything unfinished
};

// A process that takes HashBatch messages (normal priority, so a worker gets them) and ScaleTo
// messages (high priority, so the pool itself does).
[[nodiscard]] ergon::gen::ProcessFactory HashPoolFactory(HashPoolOptions options);

}  // namespace treesum
