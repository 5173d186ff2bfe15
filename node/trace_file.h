// What the processes of a node did, and when, as a file that Perfetto (https://ui.perfetto.dev) and chrome://tracing
// open.
#pragma once

#include <memory>
#include <string>

#include <ergon/gen/node.h>
#include <ergon/gen/result.h>
#include <ergon/node/recording/trace_file.h>

namespace ergon::node {

// Writes to a file, which is made or replaced, what the processes of a node do from now on, in the trace-event format:
// a list of JSON. There are two groups of tracks:
//   threads    a track for each thread that runs processes: one slice for each turn, named after the process
//   processes  a track for each process: a slice from the beginning of a turn until the process has nothing to do or
//              gives its thread to others, named after the type of what it has handled last; within it a slice for each
//              time that it was suspended: for the answer to a Call (of which type, from whom, with which trace id) or
//              for something else. What goes on at the end of the recording ends there.
// A turn that has begun before the recording is not recorded, and neither is the wait in which it ends.
// Times are in microseconds since the beginning. A process that a blocking stretch (gen::Blocking) or its options have
// given a thread of its own has no slices for what it does there. Messages have no slices of their own, and neither
// have sends: nothing may be added to their way.
//
// A node without a recording pays nothing for it. A recording costs each turn two looks at the clock and at most two
// locks, and at most 48 MiB of memory, and the names of the processes; a thread of its own writes the file. The log
// tells its end. If the program is killed, the file lacks its end, "]", which viewers do without.
//
// May be called from any thread, also inside handlers; it blocks for as long as the file's system takes. Errors:
//   kIncorrect       an option is out of range, or no regular file can be made; the text names the field and the value
//   kInternal        the file cannot be written, or no thread can be had; the text says why
//   kBusy            the node is being recorded already; the text names that file
//   kProcessUnknown, kProcessTerminated  there is no such process (any more)
//   kNotAllowed      a node with a clock of its own, or with a dispatcher that is no core::ThreadedDispatcher
//   kNodeTerminated  the node has stopped
// Throws std::logic_error when `node` is of another kind than those of node::Start.
[[nodiscard]] gen::Result<std::shared_ptr<TraceFile>> TraceTo(gen::Node& node,
                                                              const std::string& path,
                                                              const TraceFileOptions& options = {});

}  // namespace ergon::node
