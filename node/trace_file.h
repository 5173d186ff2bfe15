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
//              for something else. A slice that is open when the recording ends is cut there.
// The track of a process also has a moment, "sends" or "calls", for each attempt to send or to pass on a message and
// each attempt to make a request: the type, to whom, with which trace id. It is the moment before the delivery, which
// may fail. Not among them are answers, values of events, delayed and periodic messages, and what a pool gives to its
// workers.
//
// A turn that began before the recording is left out, and so is the wait that follows it. Times are in microseconds
// since the beginning. A process has no slice for a blocking stretch (gen::Blocking), one that its options have given a
// thread of its own has nothing, and there are no moments for what an Init sends that runs within a turn of its parent.
//
// A node without a recording pays nothing for it. A recording costs each turn two looks at the clock and at most two
// locks, each message that is sent a look at the clock and a lock (unless TraceFileOptions::sends is false), and at
// most 48 MiB of memory, of which what is sent takes half, and the names of the processes; a thread of its own writes
// the file. The log says when the recording has ended. If the program is killed, the closing "]" is missing; viewers
// accept that.
//
// May be called from any thread, also inside handlers; it blocks while the file is made. Errors:
//   kIncorrect       an option is out of range, TraceFileOptions::process is not of this node, or no regular file can
//                    be made; the text names the field and the value
//   kInternal        the file cannot be written, or no thread or no memory can be had; the text says why
//   kBusy            the node is being recorded already; the text names that file
//   kProcessUnknown, kProcessTerminated, kProcessIncarnation  there is no such process (any more), or it was one of a
//                    former incarnation of the node
//   kNotAllowed      the node has a clock of its own, or a dispatcher that is not a core::ThreadedDispatcher
//   kNodeTerminated  the node has stopped
// Throws std::logic_error if `node` was not made by node::Start.
[[nodiscard]] gen::Result<std::shared_ptr<TraceFile>> TraceTo(gen::Node& node,
                                                              const std::string& path,
                                                              const TraceFileOptions& options = {});

}  // namespace ergon::node
