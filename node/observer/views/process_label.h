// What a process is called where people see it.
#pragma once

#include <cstdint>
#include <string>

#include <ergon/gen/atom.h>
#include <ergon/gen/pid.h>
#include <ergon/node/observer/numbers/behavior_index.h>

namespace ergon::node {

struct ProcessLabel {
  gen::PID pid;          // the empty PID: a process of another node, or none
  gen::Atom name;        // registered; empty: none, or it has ended
  std::string behavior;  // a LabelValue; empty: it has ended
};

// Returns the label of a process. Takes the lock of the process for a moment, as the next does. `id`: of a PID of this
// node; 0: no process.
[[nodiscard]] ProcessLabel LabelOf(BehaviorIndex& index, std::uint64_t id);
// Returns the registered name; empty if the process has none, or has ended.
[[nodiscard]] gen::Atom RegisteredName(const ProcessSlot& slot, gen::PID pid);

}  // namespace ergon::node
