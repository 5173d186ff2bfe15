// The process that writes: sums in order to standard output, problems and progress to standard error.
#pragma once

#include <stop_token>

#include <ergon/gen/factory.h>

#include "sha256_format.h"

namespace treesum {

struct PrinterOptions {
  bool progress = false;  // draw a bar; only for a terminal
  LineEnd line_end = LineEnd::kNewline;
  // Told to stop when standard output cannot be written. Once it is told to stop, for whatever reason,
  // the printer ends the output at the first file that was not finished.
  std::stop_source stop;
};

// A process for the messages and requests of messages.h. It may wait for whoever reads the output, so
// spawn it detached.
[[nodiscard]] ergon::gen::ProcessFactory PrinterFactory(PrinterOptions options);

}  // namespace treesum
