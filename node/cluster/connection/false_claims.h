// What a peer says in the name of a process of another node.
#pragma once

#include <string_view>

#include <ergon/gen/log.h>
#include <ergon/gen/pid.h>
#include <ergon/node/cluster/connection/connection.h>
#include <ergon/node/cluster/connection/log_limit.h>

namespace ergon::dist {

// Of links, monitors, ends, exit signals and requests to start that is a frame that is none, and ends the connection, as in
// Erlang. What stands in messages is not believed, and is counted here; the connection goes on. But one Ergon node passes on
// messages of others to another, as a pool to its workers there: there the sender is what it says.
//
// The thread of the network.
class FalseClaims {
 public:
  explicit FalseClaims(gen::LogSink& log) : log_(log) {}

  // `what` is what was said, for people. `from` may be of a node that is not known here: then it has none.
  void Note(Connection& connection, std::string_view what, gen::PID from);

 private:
  gen::LogSink& log_;
  LogLimit lines_;
};

}  // namespace ergon::dist
