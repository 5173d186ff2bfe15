// One process writes all lines: none is torn, and who writes faster than they are read waits until they are.
#pragma once

#include <atomic>
#include <string>

#include <ergon/gen/process.h>

namespace jobs {

// To the printer. As a message it is answered with Printed, as a request with its Reply, when it has been written. The
// Reply is 0, or the system's error: of this line or, on standard output, of the first one that was lost. ECANCELED:
// nobody reads, and the printer has stopped waiting for that.
struct Line {
  using Reply = int;
  int file;          // descriptor
  std::string text;  // without the newline at its end
};
struct Printed {};

// What the process does. From the second signal on it waits for no reader.
void Print(ergon::gen::Process& self, const std::atomic<int>& signals);

}  // namespace jobs
