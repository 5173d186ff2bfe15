// What must be true of what all nodes have written down: see README.md for the lines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ergon::chaos {

// What one incarnation of a node has written.
struct NodeLedger {
  std::string node;     // without a number: "b"
  bool erlang = false;  // a node of Erlang
  bool killed = false;  // by the test; its ledger may stop anywhere
  std::vector<std::string> lines;
};

// For people.
struct Tally {
  std::uint64_t sent = 0;     // and told that this was a success
  std::uint64_t handled = 0;  // of these
  std::uint64_t covered =
      0;  // not handled, but lost with a connection, and the sender was told of that
  std::uint64_t dropped = 0;  // not handled, but counted as dropped by a node that lives
  std::uint64_t unknown = 0;  // not handled, and their sender was killed
  std::uint64_t calls = 0;
  std::uint64_t answers = 0;
  std::map<std::string, std::uint64_t> errors;  // of calls, by kind
  std::uint64_t watches = 0;                    // monitors and links
  std::uint64_t signals = 0;                    // they brought
  std::uint64_t undone = 0;                     // they were ended by their owner
  std::uint64_t subscriptions = 0;              // to events
  std::uint64_t values = 0;                     // they brought
  std::uint64_t spawns = 0;                     // on other nodes
  std::uint64_t children = 0;                   // were spawned
  std::uint64_t packed = 0;  // values that the nodes that live have read in packed form
};

struct Judgement {
  std::vector<std::string> broken;  // laws, with an example each; empty: all hold
  Tally tally;
};

[[nodiscard]] Judgement Judge(const std::vector<NodeLedger>& ledgers);

}  // namespace ergon::chaos
