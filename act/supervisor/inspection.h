// What a supervisor answers to Inspect.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ergon/act/supervisor_requests.h>
#include <ergon/act/supervisor_spec.h>
#include <ergon/gen/messenger.h>

namespace ergon::act {

// Everything that the keys are made of; see Supervisor for their meaning.
struct SupervisorFigures {
  const SupervisorSpec& spec;
  std::size_t recent_restarts = 0;
  bool ending = false;
  std::vector<SupervisorChild> children;
};

// The supervisor's keys, together with `added`, of which the supervisor's own keys win. With `items`
// only those keys that they ask for (gen::IsAskedFor); "child" stands for all that begin with "child:".
[[nodiscard]] gen::Inspection InspectSupervisor(const SupervisorFigures& figures,
                                                gen::Inspection added,
                                                const std::vector<std::string>& items);

}  // namespace ergon::act
