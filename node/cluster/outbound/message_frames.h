// The frames of messages and requests that go out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ergon/core/messages/envelope.h>
#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/scratch.h>
#include <ergon/node/cluster/values/trace_tokens.h>

namespace ergon::dist {

// See OpenFrameOf: `remote` is a name or an alias, or there is a token.
[[nodiscard]] std::string* OpenUnusualFrame(Scratch& scratch, gen::PID remote, gen::PID from,
                                            std::string_view token);

// Begins the frame of a message or a request to a process, a name or an alias of another node, with a token if it has a
// trace id; its payload follows. Returns null if too many other aliases have come since this one was resolved, see
// FormerAlias.
[[nodiscard]] inline std::string* OpenFrameOf(Scratch& scratch, gen::PID remote,
                                              const core::Envelope& envelope, TraceTokens& traces) {
  const gen::PID from = gen::PID::FromAddress(envelope.from);
  if (gen::IsTraced(envelope)) [[unlikely]]
    return OpenUnusualFrame(scratch, remote, from, traces.Make(gen::TraceOf(envelope), from));
  if (remote.creation != 0) [[likely]]
    return &scratch.OfMessage(from, remote);
  return OpenUnusualFrame(scratch, remote, from, {});
}
[[nodiscard]] gen::Error FormerAlias(gen::PID remote);

// Checks the size of a frame that OpenFrameOf has begun, see CheckFrame.
[[nodiscard]] inline gen::Result<void> CheckMessageFrame(std::string_view frame, std::size_t most,
                                                         gen::PID remote) {
  return CheckFrame(frame.size() - kFrameLengthBytes, most, remote.node);
}

}  // namespace ergon::dist
