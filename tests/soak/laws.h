// What must be true when everything is at rest.
#pragma once

#include <string>

#include <ergon/gen/node.h>

#include <soak/stage.h>
#include <soak/verdict.h>

namespace ergon::soak {

// Each message sent since the start is accounted for, and the node counts the same ones as dropped.
void CheckConservation(const Stage& stage, const gen::MessageBalance& balance, Verdict& verdict);

// Waits until a pool that is not going to end is at rest; its numbers must agree with those of the
// senders. `losses` adds up what it has lost.
struct PoolLosses {
  std::uint64_t crashed = 0;
  std::uint64_t full = 0;
  std::uint64_t terminated = 0;
};
void CheckPool(gen::Node& node, const std::string& name, const Incarnation& incarnation,
               Verdict& verdict, PoolLosses& losses);

// Links are on both sides, and so are monitors.
void CheckRelations(const gen::Node& node, Verdict& verdict);

// Nothing is left over: processes, names, aliases, timers.
void CheckEmpty(const gen::Node& node, Verdict& verdict);

}  // namespace ergon::soak
