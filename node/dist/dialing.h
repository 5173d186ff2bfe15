// Opens connections to other nodes: EPMD is asked for the port, then comes the handshake.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <ergon/gen/result.h>
#include <ergon/node/dist/connection.h>
#include <ergon/node/dist/handshake.h>
#include <ergon/node/dist/settings.h>
#include <ergon/node/dist/stream.h>

namespace ergon::dist {

// All but Dial are for tasks (see tasks.h).
//
// A stream to the node `peer` on which nothing has been said yet. What fails is an error whose text names the host and
// the port, and what to look at there.
gen::Result<void> ConnectTo(asio::io_context& context, Tasks& tasks, const Settings& settings,
                            const std::string& peer, Stream& stream);

// The handshake on a stream, to its end. `handshake` has to be at its beginning.
gen::Result<HandshakePeer> ShakeHands(Stream& stream, Handshake handshake);

// The same as the one who has connected to `peer`, and is `self`, within the settings' time.
gen::Result<HandshakePeer> ShakeHandsWith(asio::io_context& context, const Settings& settings,
                                          HandshakeSelf self, const std::string& peer,
                                          Stream& stream, std::function<bool()> is_wanted = {});

// What becomes of a new connection.
struct DialResult {
  std::function<std::chrono::nanoseconds()> pause;  // how long to wait first
  std::function<bool()> is_wanted;  // as Handshake::Initiator has it; false: the peer has come
  std::function<void(std::shared_ptr<Stream>, const HandshakePeer&)> succeeded;
  std::function<void(const std::string& why)> failed;
};
// Dials `peer`, and calls `succeeded` or `failed`. Returns at once.
void Dial(asio::io_context& context, Tasks& tasks, const Settings& settings, std::string peer,
          DialResult result);

}  // namespace ergon::dist
