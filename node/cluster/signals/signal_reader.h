// The control tuples of frames, read into signals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/signals/pid_head.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

// kIncorrect, with that text.
[[nodiscard]] gen::Error NoSignal(std::string text);

// Returns the signal of a checked tuple, without its payload. Errors as of ParseFrame.
[[nodiscard]] gen::Result<Signal> ReadControl(std::string_view tuple, const Peers& peers,
                                              std::size_t max_depth, bool has_payload);

// What nearly all frames are: {22, From, To} of a process of the peer to one of ours, with a message. Both PIDs are
// compared with names that are known, so that nobody has to look first whether the tuple is a term. False: it is another
// signal, or none, which ParseFrame finds out. `rest` is behind the byte of the frame, and behind the tuple afterwards.
bool ReadMessageHead(std::string_view& rest, const Peers& peers, std::size_t max_depth,
                     Signal& signal);

}  // namespace ergon::dist
