// Counting in advance, so that the progress bar can tell how much is left.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <ergon/gen/factory.h>
#include <ergon/gen/pid.h>

namespace treesum {

// A process that counts the files and bytes under the directories and sends the printer a Surveyed
// when it is through. It begins after half a second, as short runs need no time left, and leaves
// the processor to the others. Spawn it detached.
[[nodiscard]] ergon::gen::ProcessFactory SurveyFactory(std::vector<std::string> arguments,
                                                       ergon::gen::PID printer,
                                                       std::stop_token stop);

}  // namespace treesum
