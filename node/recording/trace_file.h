// A recording of what processes do, as users see it.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>

namespace ergon::node {

struct TraceFileOptions {
  // How long turns are recorded, more than 0; gen::kInfinite: until TraceFile::End, or the end of the node.
  std::chrono::nanoseconds duration = std::chrono::seconds(10);
  // The only process that is recorded; empty: all. Then the other processes cost only a look at their PID in each turn.
  gen::PID process = {};
  // Whether what processes send is recorded, too. It costs each message that they send a look at the clock and a lock.
  // Only the first half of max_bytes has room for that; the rest is for turns and waits.
  bool sends = true;
  // The most bytes of the file, 4 KiB..1 TiB: the recording ends before it would become larger.
  std::uint64_t max_bytes = 64 * 1024 * 1024;
};

struct TraceFileSummary {
  std::uint64_t events = 0;  // in the file
  std::uint64_t bytes = 0;   // its size
  // Events that came faster than they could be written, or had no room in the file or in memory, and turns of processes
  // that had no room among 32,768 recorded at a time.
  std::uint64_t left_out = 0;
  bool is_full = false;  // the recording has ended for want of room
};

// A recording. It continues when this handle has been destroyed. May be used from any thread, also after the node's
// end.
class TraceFile {
 public:
  virtual ~TraceFile() = default;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Ends the recording, unless it has ended, and returns when the file is complete: it blocks while the file is
  // written. Returns kInternal if the file could not be written, as with a full disk; the text says why and names the
  // file, which then ends with what could be written. Returns kNodeTerminated in a child made by fork(), whose parent
  // continues the recording.
  virtual gen::Result<TraceFileSummary> End() = 0;
  // Returns true until the file is complete; in a child made by fork() false.
  [[nodiscard]] virtual bool IsOpen() const = 0;

 protected:
  TraceFile() = default;
};

}  // namespace ergon::node
