// Reads the control tuples of frames into signals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/signals/pid_head.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// Returns kIncorrect with that text.
[[nodiscard]] gen::Error NoSignal(std::string text);

// Returns the signal of a checked tuple, without its payload. Has the errors of ParseFrame.
[[nodiscard]] gen::Result<Signal> ReadControl(std::string_view tuple, const Peers& peers,
                                              std::size_t max_depth, bool has_payload);

// Reads the control tuple of nearly all frames: {22, From, To}, a message of a process of the peer to a process of this
// node. Both PIDs are compared with the known names of the nodes, so the tuple need not be checked as a term first.
// Returns false for anything else; ParseFrame finds out what it is. `rest` begins after the first byte of the frame;
// after success it begins after the tuple.
bool ReadMessageHead(std::string_view& rest, const Peers& peers, std::size_t max_depth,
                     Signal& signal);

}  // namespace ergon::dist
