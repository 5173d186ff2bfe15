// What this node answers to Erlang's system_info, statistics and memory, and to observer_backend:sys_info.
#pragma once

#include <ergon/gen/node.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// Return badarg if there is no such item.
[[nodiscard]] gen::Result<Term> SystemInfo(const gen::Node& node, const Term& item);
[[nodiscard]] gen::Result<Term> Statistics(const gen::Node& node, const Term& item);
// Returns the bytes of one kind.
[[nodiscard]] gen::Result<Term> MemoryOf(const Term& kind);
// Returns [{Kind, Bytes}] of all kinds.
[[nodiscard]] Term Memory();

// Writes [{Worker, Active, Total}], in ns since the node's start. The time of a single worker is not measured: each has
// an equal part of the program's processor time.
void WriteWorkerTimes(TermWriter& writer, const gen::Node& node);
// Writes {{input, Bytes}, {output, Bytes}}: what the program has read and written, as Linux counts it.
void WriteIo(TermWriter& writer);
// Returns what observer_backend:sys_info answers.
[[nodiscard]] Term SysInfo(const gen::Node& node);
// Writes the time now, as {MegaSeconds, Seconds, Microseconds}.
void WriteTimestamp(TermWriter& writer);

}  // namespace ergon::dist
