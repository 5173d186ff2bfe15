// What Erlang's system_info, statistics and memory tell of a node here, and observer_backend:sys_info.
#pragma once

#include <ergon/gen/node.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/term.h>
#include <ergon/node/erlang/terms/writer.h>

namespace ergon::dist {

// badarg: there is no such item.
[[nodiscard]] gen::Result<Term> SystemInfo(const gen::Node& node, const Term& item);
[[nodiscard]] gen::Result<Term> Statistics(const gen::Node& node, const Term& item);
// Of one kind, in bytes, or [{Kind, Bytes}] of all.
[[nodiscard]] gen::Result<Term> MemoryOf(const Term& kind);
[[nodiscard]] Term Memory();

// [{Worker, Active, Total}] in ns since the node's start. What a worker runs is not measured: it is the processor time
// of the program, spread over the workers.
void WriteWorkerTimes(TermWriter& writer, const gen::Node& node);
// {{input, Bytes}, {output, Bytes}}: what the program has read and written, as Linux counts it.
void WriteIo(TermWriter& writer);
// observer_backend:sys_info.
[[nodiscard]] Term SysInfo(const gen::Node& node);
// {MegaSeconds, Seconds, Microseconds}
void WriteTimestamp(TermWriter& writer);

}  // namespace ergon::dist
