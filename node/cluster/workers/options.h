// Where the workers of a pool live that are on other nodes, and what they are.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <ergon/gen/atom.h>
#include <ergon/gen/result.h>
#include <ergon/node/erlang/term.h>

namespace ergon::dist {

inline constexpr int kMaxInFlight = 1'000'000;

// A value out of range makes the spawn of the pool fail, with a text that names field and value.
struct RemoteWorkersOptions {
  // Where workers may live: names of Ergon nodes, as "cpp@host"; at least one, each once, and not the pool's own node.
  std::vector<gen::Atom> nodes = {};
  // What they are registered as on each of these nodes (ErlangOptions::behaviors). Required.
  std::string module = {};
  std::string function = {};
  // What the Init of each worker gets, as dist::Spawn says.
  std::vector<Term> arguments = {};
  // Messages and requests that may be on their way to one worker and wait in its mailbox, 1..1,000,000: less if the mailbox
  // that is registered for it has a smaller bound. Likewise, requests that it may have and has not answered. What comes
  // then waits on the pool's node, up to PoolOptions::worker_mailbox_size. What is in flight is lost with a worker, and
  // its node; how fast small messages go to one is this number by the time of a round trip.
  int max_in_flight = 100;
  // How long one node may take to start a worker, with its Init and a connection that has to be made, more than 0; then
  // the next node is tried. PoolOptions::worker_init_timeout is for all of them together.
  std::chrono::nanoseconds spawn_timeout = std::chrono::seconds(2);
};

// kIncorrect, as in "max_in_flight: 0 is outside 1..1000000": what is wrong for a pool on the node `own`. Any thread.
[[nodiscard]] gen::Result<void> CheckRemoteWorkers(const RemoteWorkersOptions& options,
                                                   gen::Atom own);

}  // namespace ergon::dist
