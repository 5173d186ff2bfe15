// The process that writes: sums in order to standard output, problems and progress to standard
// error.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>

#include <ergon/gen/factory.h>

#include "sha256_format.h"

namespace treesum {

// How far the output has got, for those who cannot wait for an answer. Any thread.
struct Tally {
  std::atomic<std::uint64_t> files{0};       // lines written
  std::atomic<std::uint64_t> bytes_read{0};  // also of files that are not finished
};

struct PrinterOptions {
  bool progress = false;  // draw a bar; only for a terminal
  LineEnd line_end = LineEnd::kNewline;
  // Told to stop when standard output cannot be written. Once it is told to stop, for whatever
  // reason, the printer ends the output at the first file that was not finished.
  std::stop_source stop;
  std::shared_ptr<Tally> tally = std::make_shared<Tally>();
};

// A process for the messages and requests of messages.h. It may wait for whoever reads the output,
// so spawn it detached.
[[nodiscard]] ergon::gen::ProcessFactory PrinterFactory(PrinterOptions options);

}  // namespace treesum
