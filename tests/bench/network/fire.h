// Peers that ask a node for trouble, beside whom an honest one is measured (fire.sh).
#pragma once

#include <cstdint>
#include <string>

namespace ergon::bench {

// All of tests/cluster/attackers.h and dialled.h at once, on the node `peer` that listens at `port`. Prints "ready"
// when each kind has gone all the way once; ends with its standard input, and prints how often each has. The cookie is
// in the environment's RELEASE_COOKIE, the port of EPMD in ERL_EPMD_PORT; nothing listens at that port of 127.0.0.2.
void Attack(const std::string& peer, std::uint16_t port);

}  // namespace ergon::bench
