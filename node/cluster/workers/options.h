// Options of the workers that a pool has on other nodes: where they live, and what they are.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

inline constexpr int kMaxInFlight = 1'000'000;

// A value out of range makes the spawn of the pool fail with a text that names the field and the value.
struct RemoteWorkersOptions {
  // The nodes where workers may live: names of Ergon nodes, as "cpp@host"; at least one, each once, and not the pool's
  // own node.
  std::vector<gen::Atom> nodes = {};
  // The name under which the workers are registered on each of these nodes (ErlangOptions::behaviors). Required.
  std::string module = {};
  std::string function = {};
  // The arguments for the Init of each worker, as dist::Spawn says.
  std::vector<Term> arguments = {};
  // How many messages and requests may be on their way to one worker or wait in its mailbox, 1..1,000,000; fewer if the
  // mailbox that is registered for it has a smaller bound. Also how many requests the worker may have that it has not
  // answered. Further messages wait on the pool's node, up to PoolOptions::worker_mailbox_size. Messages in flight are
  // lost with a worker or its node. The rate of small messages to one worker is at most this number divided by the time
  // of a round trip.
  int max_in_flight = 100;
  // How long one node may take to start a worker, including its Init and a connection that has to be made, more than 0;
  // then the next node is tried. PoolOptions::worker_init_timeout is for all nodes together.
  std::chrono::nanoseconds spawn_timeout = std::chrono::seconds(2);
};

// Returns kIncorrect, as in "max_in_flight: 0 is outside 1..1000000", if the options are wrong for a pool on the node
// `own`. Any thread.
[[nodiscard]] gen::Result<void> CheckRemoteWorkers(const RemoteWorkersOptions& options,
                                                   gen::Atom own);

}  // namespace ergon::dist
