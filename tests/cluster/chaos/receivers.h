// Those who handle what comes from other nodes.
#pragma once

#include <ergon/gen/node.h>

#include <cluster/chaos/stage.h>

namespace ergon::chaos {

// Their names. The pool of workers answers calls, and so does the sink.
inline constexpr const char* kSink = "sink";
inline constexpr const char* kPool = "pool";
// Its mailbox drops what it has no room for.
inline constexpr const char* kTight = "tight";
// The group that all sinks are in.
inline constexpr const char* kGroup = "chaos";
// Publishes the event; only on nodes of Ergon.
inline constexpr const char* kPublisher = "publisher";
inline constexpr const char* kBeats = "beats";

void StartReceivers(gen::Node& node, Stage& stage);
// They handle what waits, and end.
void StopReceivers(gen::Node& node);

}  // namespace ergon::chaos
