// What Erlang's module dbg asks for an etop that traces: that of OTP 27 does, whatever it was told. There are no traces here,
// but it waits for the beginning of them, and ends without a port where they come from. So it gets a port, which says nothing.
#pragma once

#include <string>
#include <vector>

#include <ergon/gen/process.h>
#include <ergon/node/erlang/exports.h>

namespace ergon::dist {

// Returns where the process's node listens to others, in digits; empty if its network is none of Erlang's.
[[nodiscard]] std::string ListenAddressOf(gen::Process& self);

void AddTraceAnswers(std::vector<detail::RemoteFunction>& table);

}  // namespace ergon::dist
