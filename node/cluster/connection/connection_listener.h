// Whom a connection tells what happens to it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/gen/pid.h>
#include <ergon/gen/trace.h>
#include <ergon/node/cluster/connection/peer_state.h>
#include <ergon/node/cluster/connection/room_waiters.h>
#include <ergon/node/cluster/signals/signal.h>

namespace ergon::dist {

class Connection;

// What a connection that is down leaves behind.
struct ConnectionRest {
  PeerState peer_state;
  std::vector<RoomWaiter> waiters;
  std::uint64_t unsent = 0;  // messages
  std::string why;
  bool is_fault = false;  // of the peer, such as a malformed frame
  bool is_foreign = false;
};

// The functions that the connection calls, on the thread of the network, without a lock unless they say otherwise.
struct ConnectionListener {
  // The connection is about to be up: what is sent now goes before all that has waited. With the lock.
  std::function<void(Connection&)> begins = [](Connection&) {};
  std::function<void(Connection&)> up;  // before anything arrives
  std::function<void(Connection&, const Signal&)> arrived;
  // Messages that have arrived one after the other, at least one. They are the same signal but for their payloads, each
  // of which is one binary. An empty function: `arrived` is called for each of them.
  std::function<void(Connection&, const Signal&, std::span<const std::string_view> payloads)>
      alike_arrived = {};
  // All that was read together has arrived.
  std::function<void()> all_arrived = [] {};
  std::function<void(Connection&, const std::vector<RoomWaiter>&)> has_room;
  std::function<void(Connection&)> idle;  // from time to time
  std::function<void(Connection&, ConnectionRest)> down;
  // Returns the token of a signal that has a trace id (TraceTokens::Make). Any thread, with the lock. An empty
  // function: no signal has a token.
  std::function<std::string(gen::TraceId trace, gen::PID from)> token = {};
};

}  // namespace ergon::dist
