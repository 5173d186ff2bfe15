// Notes signals that a peer sends in the name of a process of another node.
#pragma once

#include <string_view>

#include <ergon/gen/log.h>
#include <ergon/gen/log_limit.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>

namespace ergon::dist {

// A link, a monitor, an end, an exit signal or a request to start in the name of a process of another node is a
// malformed frame and ends the connection, as in Erlang. A false sender of a message is not believed and is counted
// here; the connection goes on. But an Ergon node may forward messages of other nodes to an Ergon node, as a pool to
// its workers there: then the sender is believed.
//
// The thread of the network.
class FalseClaims {
 public:
  explicit FalseClaims(gen::LogSink& log) : log_(log) {}

  // `what` describes the signal, for people. `from` may be of a node that is not known here: then it has no node.
  void Note(Connection& connection, std::string_view what, gen::PID from);

 private:
  gen::LogSink& log_;
  gen::LogLimit lines_;
};

}  // namespace ergon::dist
