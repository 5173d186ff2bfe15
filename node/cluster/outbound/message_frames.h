// The frames of messages and requests that go out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ergon/gen/error.h>
#include <ergon/gen/pid.h>
#include <ergon/gen/result.h>
#include <ergon/node/cluster/signals/frame_writer.h>
#include <ergon/node/cluster/signals/scratch.h>

namespace ergon::dist {

// See OpenFrameTo: `remote` is a name or an alias.
[[nodiscard]] std::string* OpenFrameToNameOrAlias(Scratch& scratch, gen::PID remote, gen::PID from);

// Begins the frame of a message to a process, a name or an alias of another node; its payload follows. Returns null if too
// many other aliases have come since this one was resolved, see FormerAlias.
[[nodiscard]] inline std::string* OpenFrameTo(Scratch& scratch, gen::PID remote, gen::PID from) {
  if (remote.creation != 0) [[likely]]
    return &scratch.OfMessage(from, remote);
  return OpenFrameToNameOrAlias(scratch, remote, from);
}
[[nodiscard]] gen::Error FormerAlias(gen::PID remote);

// Checks the size of a frame that OpenFrameTo has begun, see CheckFrame.
[[nodiscard]] inline gen::Result<void> CheckMessageFrame(std::string_view frame, std::size_t most,
                                                         gen::PID remote) {
  return CheckFrame(frame.size() - kFrameLengthBytes, most, remote.node);
}

}  // namespace ergon::dist
