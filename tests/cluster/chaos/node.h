// A node of the test, as a program of its own.
//
// It reads lines from standard input and says words on standard output:
//
//   ready    the node runs, with its receivers
//   begin    the load begins
//   disconnect NODE
//   heal     -> healed: it is connected with all others, and knows all members of the group
//   finish   -> idle: senders and callers have ended
//            -> finished: all who watch have had their signals
//   end      writes the last lines of the ledger, and ends with status 0
//
// The end of standard input ends it at once.
#pragma once

namespace ergon::chaos {

// The words after "node": NAME INCARNATION LEDGER EPMD_PORT TICK_MS SEED TLS PEER...; TLS: a folder with node.pem,
// node.key and ca.pem, or empty
int RunNode(int count, char** words);

}  // namespace ergon::chaos
