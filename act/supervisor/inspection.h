// The answer of a supervisor to Inspect.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ergon/act/supervisor_requests.h>
#include <ergon/act/supervisor_spec.h>
#include <ergon/gen/messenger.h>

namespace ergon::act {

// The figures that the keys are made of; see Supervisor for their meaning.
struct SupervisorFigures {
  const SupervisorSpec& spec;
  std::size_t recent_restarts = 0;
  bool ending = false;
  std::vector<SupervisorChild> children;
};

// Returns the supervisor's keys together with `added`; the supervisor's own keys win. If `items` is not empty, only
// the keys that it asks for (gen::IsAskedFor); "child" asks for all keys that begin with "child:".
[[nodiscard]] gen::Inspection InspectSupervisor(const SupervisorFigures& figures,
                                                gen::Inspection added,
                                                const std::vector<std::string>& items);

}  // namespace ergon::act
