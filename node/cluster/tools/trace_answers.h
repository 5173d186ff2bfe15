// Answers to Erlang's module dbg, which etop uses when it traces; the etop of OTP 27 always does. This node has no
// traces, but etop waits for them, and ends if there is no port to read them from. So it gets a port on which nothing
// is sent.
#pragma once

#include <string>
#include <vector>

#include <ergon/gen/process.h>
#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// Returns where the process's node listens to others, in digits; empty if its network is not an Erlang cluster.
[[nodiscard]] std::string ListenAddressOf(gen::Process& self);

void AddTraceAnswers(std::vector<detail::RemoteFunction>& table);

}  // namespace ergon::dist
