// How many processes there are of each behaviour, and what waits for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ergon/gen/pid.h>
#include <ergon/gen/process.h>
#include <ergon/gen/process_info.h>
#include <ergon/node/observer/numbers/behavior_index.h>

namespace ergon::node {

struct BehaviorFigures {
  std::string behavior;  // a LabelValue
  std::uint64_t processes = 0;
  std::uint64_t queued = 0;   // messages in their mailboxes
  std::uint64_t longest = 0;  // of those, the most in one mailbox
  std::uint64_t held = 0;     // stashed, or kept to be passed on
};

struct CensusFigures {
  struct Pool {
    gen::PID pid;
    std::string label;  // its registered name, or its behaviour; a LabelValue
  };
  static constexpr std::size_t kStates = 6;  // of gen::ProcessState

  std::vector<BehaviorFigures> behaviors;
  std::array<std::uint64_t, kStates> states{};
  std::vector<Pool> pools;  // up to `max_pools` of them
  std::uint64_t pools_in_all = 0;
};

// Calls visit(ProcessSlot&, id) for each process that is alive, and lets others run now and then: each process is seen
// at its own moment.
template <class Visit>
void VisitProcesses(gen::Process& self, const Addresses& addresses, Visit visit) {
  constexpr std::uint32_t kSlice = 4'096;  // slots, between which others may run
  for (std::uint32_t index = 0;; ++index) {
    const ProcessSlot* const slot = addresses.table().Find(index);
    if (slot == nullptr) return;
    if (index % kSlice == kSlice - 1) self.Yield();
    const std::uint64_t id = slot->Id();  // first: it changes when the process ends
    if (!slot->mailbox().IsClosed()) visit(*slot, id);
  }
}

// Looks at all processes. Called by the process `self`.
[[nodiscard]] CensusFigures TakeCensus(gen::Process& self, BehaviorIndex& index,
                                       std::size_t max_pools);

}  // namespace ergon::node
